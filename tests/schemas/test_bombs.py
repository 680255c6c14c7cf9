"""Small messages that want much: each is a dead letter, and the good one after it is read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bombs import MESSAGES, chunk
from record_samples import BARE, arrow

MOST_GROWN = 512 * 2**20
READER = Path(__file__).with_name("bomb_reader.py")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What a reader says of each bomb; all of them in one process, one after another."""
    folder = tmp_path_factory.mktemp("bombs")
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
def test_a_bomb_is_a_dead_letter_and_the_next_message_is_read(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    said = outcome(outcomes, str([*MESSAGES].index(name)))
    assert (said["rows"], said["good"]) == (0, 1), said
    assert said["bad"] >= 1
    assert said["grown"] < MOST_GROWN, said
    assert said["letters"] <= 17, "a few in full, one for the rest"
    assert said["letter_bytes"] < 1_000_000, "a broker takes each of them"
    assert "Error" not in said["why"], "foreseen, not caught by chance"


@pytest.mark.parametrize("kind", ["pane", "window"])
def test_a_bomb_on_skh_windows_is_refused(outcomes: dict[str, dict[str, Any]], kind: str) -> None:
    said = outcome(outcomes, kind)
    assert said["rows"] == 0
    assert said["grown"] < MOST_GROWN
    assert "expand" in said["why"]


def test_all_bombs_together_leave_the_process_alive(
    outcomes: dict[str, dict[str, Any]],
) -> None:
    assert outcomes["process"] == {"code": 0, "stderr": ""}


def test_rows_are_counted_one_by_one_though_their_letters_are_not(
    outcomes: dict[str, dict[str, Any]],
) -> None:
    for name in ("lines of digits", "lines of empty objects", "lines of text", "lines of commas"):
        said = outcome(outcomes, str([*MESSAGES].index(name)))
        assert said["bad"] == 65_536, name
        assert said["why"].startswith("and 65520 more rows of this message"), said["why"]
