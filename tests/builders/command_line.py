"""The command in this process: exit code, standard output and standard error."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from skeletonhunter import cli

SECONDS = 12  # in the files of the fixture ``small``


class CommandResult(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Command:
    """Runs ``skeletonhunter``; made by the fixture ``command``."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> CommandResult:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main(list(map(str, arguments)))
        assert isinstance(left.value.code, int)
        said = self._capsys.readouterr()
        return CommandResult(left.value.code, said.out, said.err)
