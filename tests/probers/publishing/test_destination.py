"""Where --publish leads: a file, or an error that names the spellings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probers.publishing.destination import publish_to
from probers.publishing.file import FilePublisher
from probers.publishing.publisher import PublishUsageError
from schemas import topics


def test_a_file_holds_one_json_line_per_message(tmp_path: Path) -> None:
    publisher = publish_to(f"file:{tmp_path / 'out.ndjson'}")
    assert isinstance(publisher, FilePublisher)
    publisher.connect(1.0)
    publisher.publish(topics.HEARTBEATS.name, "host-1", b'{"a":1}', topics.JSON)
    publisher.close(1.0)
    (line,) = (tmp_path / "out.ndjson").read_text().splitlines()
    assert json.loads(line)["payload"] == '{"a":1}'


@pytest.mark.parametrize("place", ["", "unix:", "kafka", "ftp:host", "/tmp/x"])  # noqa: S108  # a spelling, not a file
def test_an_invalid_destination_is_an_error_that_names_the_valid_ones(place: str) -> None:
    with pytest.raises(PublishUsageError, match="give unix:PATH, kafka:HOST:PORT or file:PATH"):
        publish_to(place)
