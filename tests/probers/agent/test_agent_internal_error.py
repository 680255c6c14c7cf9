"""A defect of the agent is exit code 70, one line, and a traceback in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from probers.agent.main import main
from schemas import crash_report


class FailingArguments(list[str]):
    """A command line that cannot be read: stands for a defect anywhere in the agent."""

    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError("a defect")


def test_an_internal_error_of_the_agent_is_code_70_one_line_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(FailingArguments()) == crash_report.INTERNAL_ERROR == 70
    line = capsys.readouterr().err
    assert line.startswith("skeletonhunter-agent: internal error: ZeroDivisionError: a defect; ")
    assert line.count("\n") == 1
    assert len(list(tmp_path.glob("skeletonhunter-*.traceback"))) == 1
