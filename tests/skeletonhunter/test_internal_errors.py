"""A defect of ours is exit code 70 with its traceback in a file: never 1, and one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from builders.command_line import Command

from probers.agent import main
from schemas import crash_report
from skeletonhunter import cli


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tracebacks of these tests go where they are removed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def broken(error: BaseException) -> Callable[[], typer.Typer]:
    """A command that fails so."""

    def build() -> typer.Typer:
        app = typer.Typer(pretty_exceptions_enable=False)

        @app.command()
        def fail() -> None:
            raise error

        return app

    return build


@pytest.mark.parametrize(
    "error",
    [RuntimeError("a\x1b[2J defect\nof two lines"), KeyError("x"), RecursionError(), MemoryError(),
     AssertionError(), ModuleNotFoundError("No module named 'schemas.x'", name="schemas.x")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_an_internal_error_is_70_one_line_and_a_file(
    command: Command, monkeypatch: pytest.MonkeyPatch, own_directory: Path, error: Exception
) -> None:
    monkeypatch.setattr(cli, "build", broken(error))
    said = command()
    assert said.code == 70
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"skeletonhunter: internal error: {type(error).__name__}")
    assert "\x1b" not in said.err
    (path,) = re.findall(r"please report it with (\S+)$", said.err.strip())
    assert Path(path).parent == own_directory
    assert Path(path).stat().st_mode & 0o077 == 0, "a traceback may quote what is secret"
    assert "Traceback (most recent call last)" in Path(path).read_text()


def test_where_no_file_can_be_written_the_line_says_where_it_happened(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    monkeypatch.setattr(cli, "build", broken(RuntimeError("x")))
    said = command()
    assert (said.code, said.err.count("\n")) == (70, 1)
    assert re.search(r"raised at \S+test_internal_errors\.py:\d+; its traceback cannot", said.err)


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (ConnectionRefusedError("no"), 3)]
)
def test_other_ends_keep_their_codes(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    monkeypatch.setattr(cli, "build", broken(error))
    assert command().code == code


def test_a_missing_package_of_the_extra_is_named_with_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = ModuleNotFoundError("No module named 'no_such_package'", name="no_such_package.x")
    monkeypatch.setattr(cli, "build", broken(missing))
    said = command()
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "no_such_package.x is not installed" in said.err
    assert "pip install 'skeletonhunter[server]'" in said.err


def test_a_reader_that_goes_away_is_not_an_incident() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "skeletonhunter", "topics"],
        stdout=writer, stderr=subprocess.PIPE, check=False, timeout=600,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b""), "1 would say that something was found"


def test_an_internal_error_of_the_agent_is_70_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], own_directory: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(main, "publish_to", fail)
    monkeypatch.setenv("SKH_PROBE_KEY", "x" * 32)
    code = main.main(["--ping-list", "x", "--publish", "file:-", "--node-sn", "h"])
    said = capsys.readouterr().err
    assert code == crash_report.INTERNAL_ERROR == 70
    assert said.startswith("skeletonhunter-agent: internal error: ZeroDivisionError: a defect; ")
    assert said.count("\n") == 1
    assert len(list(own_directory.glob("skeletonhunter-*.traceback"))) == 1
