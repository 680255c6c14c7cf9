"""The log: one line per event, limited per minute, never blocking."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from probers.process.log import lines_lost, log_event


def test_a_log_that_is_not_read_does_not_block_the_agent(tmp_path: Path) -> None:
    """A supervisor that hangs leaves a full pipe; one that died leaves a broken one."""
    code = (
        "import sys\n"
        "from probers.process import log\n"
        "for number in range(5000):\n"
        "    log.log_event('info', f'event-{number}', text='x' * 200)\n"
        "print(log.lines_lost())\n"
    )
    for broken in (False, True):
        reading, writing = os.pipe()
        if broken:
            os.close(reading)
        done = subprocess.run(
            [sys.executable, "-c", code], stderr=writing, stdout=subprocess.PIPE,
            text=True, timeout=600, check=True,
        )  # fmt: skip
        os.close(writing)
        if not broken:
            os.close(reading)
        assert int(done.stdout) > 4000


def test_an_event_that_repeats_is_logged_30_times_a_minute(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = lines_lost()
    for number in range(100):
        log_event("warning", "test-of-repetition", number=number)
    log_event("warning", "test-of-another-event")
    lines = capfd.readouterr().err.splitlines()
    assert len([line for line in lines if "test-of-repetition" in line]) == 30
    assert "test-of-another-event" in lines[-1]
    assert lines_lost() == before


def test_control_characters_in_a_field_do_not_reach_the_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    log_event("error", "test-of-controls", why="\x1b[2Jgone\x07")
    assert capfd.readouterr().err.rstrip("\n").isprintable()


def test_a_log_line_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_event("error", "thing", why='two\nlines "quoted"', count=3)
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert line.endswith("level=error event=thing why=\"two lines 'quoted'\" count=3\n")


def test_lines_are_json_where_the_environment_asks_for_it() -> None:
    """Also the line of an agent that cannot start, and texts that need escapes."""
    done = subprocess.run(
        [sys.executable, "-m", "probers.agent", "--node-sn", "h", "--publish",
         "file:/nonexistent/\n\x1b[2J", "--ping-list", "/nonexistent"],
        env={**os.environ, "SKH_LOG_FORMAT": "json"}, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert json.loads(line)["event"] == "failed"


def test_a_line_of_json_is_never_cut() -> None:
    code = (
        "from probers.process import log\n"
        "assert log.choose_form('json')\n"
        "log.log_event('info', 'long', text='\\u2028' * 9000, more='x' * 9000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True
    )
    found = json.loads(done.stderr)
    assert len(done.stderr) <= 4096
    assert found["text"].startswith("\u2028")
    assert found["more"].startswith("x")


def test_an_unknown_form_of_lines_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "probers.agent"], env={**os.environ, "SKH_LOG_FORMAT": "xml"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2, "skeletonhunter-agent: SKH_LOG_FORMAT must be text or json\n",
    )  # fmt: skip
