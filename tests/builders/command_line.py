"""The command in this process or in one of its own: exit code, standard output, standard error."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from skeletonhunter import cli


class CommandResult(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def error_line(self) -> str:
        """The only line on standard error."""
        assert self.err.count("\n") == 1, self.err
        return self.err


class Command:
    """Runs ``skeletonhunter`` in this process; made by the fixture ``command``.

    build  what makes the command's application; a test passes one that fails in some way
    """

    def __init__(
        self, capsys: pytest.CaptureFixture[str], build: Callable[[], typer.Typer] = cli.build
    ) -> None:
        self._capsys = capsys
        self._build = build

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> CommandResult:
        self._capsys.readouterr()
        source = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", source)
            with pytest.raises(SystemExit) as left:
                cli.main(list(map(str, arguments)), build=self._build)
        assert isinstance(left.value.code, int)
        printed = self._capsys.readouterr()
        return CommandResult(left.value.code, printed.out, printed.err)

    def with_application(self, build: Callable[[], typer.Typer]) -> Command:
        """The same command with another application."""
        return Command(self._capsys, build)


def run_process(*arguments: str) -> CommandResult:
    """Run ``skeletonhunter`` in a process of its own."""
    command = [sys.executable, "-m", "skeletonhunter", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, timeout=600)
    return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())
