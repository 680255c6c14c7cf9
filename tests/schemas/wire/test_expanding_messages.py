"""Small messages that expand: each is a dead letter, and the good message after it is read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builders.schemas.expanding_messages import MESSAGES, chunk
from builders.schemas.record_formats import BARE, arrow

MAX_GROWTH_BYTES = 512 * 2**20
READER = Path(__file__).with_name("message_reader.py")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Result of each message; one process reads all of them, one after another."""
    folder = tmp_path_factory.mktemp("messages")
    (folder / "good").write_bytes(arrow(BARE))
    names = []
    for number, (content_type, make) in enumerate(MESSAGES.values()):
        (folder / str(number)).write_bytes(make())
        (folder / f"{number}.type").write_text(json.dumps(content_type))
        names.append(str(number))
    for kind in ("pane", "window"):
        (folder / kind).write_bytes(chunk(kind))
        names.append(f"{kind}=chunk:{kind}")
    ran = subprocess.run(
        [sys.executable, str(READER), str(folder), *names],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    out = {each["file"]: each for each in found}
    out["process"] = {"code": ran.returncode, "stderr": ran.stderr[-2000:]}
    return out


def outcome(outcomes: dict[str, dict[str, Any]], file: str) -> dict[str, Any]:
    assert file in outcomes, f"the reader died: {outcomes['process']}"
    return outcomes[file]


@pytest.mark.parametrize("name", MESSAGES)
def test_an_expanding_message_is_a_dead_letter_and_the_next_message_is_read(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    result = outcome(outcomes, str([*MESSAGES].index(name)))
    assert (result["rows"], result["good"]) == (0, 1), result
    assert result["bad"] >= 1
    assert result["grown"] < MAX_GROWTH_BYTES, result
    assert result["letters"] <= 17, "a few in full, one for the rest"
    assert result["letter_bytes"] < 1_000_000, "a broker takes each of them"
    assert "Error" not in result["why"], "a limit refused it, not an unexpected error"


@pytest.mark.parametrize("kind", ["pane", "window"])
def test_an_expanding_chunk_of_skh_windows_is_refused(
    outcomes: dict[str, dict[str, Any]], kind: str
) -> None:
    result = outcome(outcomes, kind)
    assert result["rows"] == 0
    assert result["grown"] < MAX_GROWTH_BYTES
    assert "expand" in result["why"]


def test_a_process_that_reads_all_expanding_messages_survives(
    outcomes: dict[str, dict[str, Any]],
) -> None:
    assert outcomes["process"] == {"code": 0, "stderr": ""}


def test_every_bad_row_is_counted_although_most_share_a_dead_letter(
    outcomes: dict[str, dict[str, Any]],
) -> None:
    for name in ("lines of digits", "lines of empty objects", "lines of text", "lines of commas"):
        result = outcome(outcomes, str([*MESSAGES].index(name)))
        assert result["bad"] == 65_536, name
        assert result["why"].startswith("and 65520 more rows of this message"), result["why"]
