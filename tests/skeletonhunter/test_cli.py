"""The command: help, exit codes, one line on stderr, also for a defect of ours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from builders.command_line import Command

from skeletonhunter import cli
from testbed.simulator.files import Written


def failing_with(error: BaseException) -> Callable[[], typer.Typer]:
    """An application whose only command raises the error."""

    def build() -> typer.Typer:
        app = typer.Typer(pretty_exceptions_enable=False)

        @app.command()
        def fail() -> None:
            raise error

        return app

    return build


@pytest.fixture
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where tracebacks of this test are written."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def commands_of(app: typer.Typer) -> Iterator[list[str]]:
    """The words of every command and group."""
    for each in app.registered_commands:
        if each.callback is not None:
            yield [each.name or each.callback.__name__.rstrip("_").replace("_", "-")]
    for group in app.registered_groups:
        assert group.name is not None
        assert group.typer_instance is not None
        yield [group.name]
        yield from ([group.name, *words] for words in commands_of(group.typer_instance))


def test_every_command_and_group_has_help_with_an_example(command: Command) -> None:
    every = list(commands_of(cli.build()))
    assert ["fabric", "fault", "list"] in every
    for words in every:
        done = command(*words, "--help")
        assert done.code == 0, words
        assert "Example: " in done.out, words
        assert "``" not in done.out, words


def test_the_version_is_shown(command: Command) -> None:
    done = command("--version")
    assert done.code == 0
    assert done.out.startswith("skeletonhunter ")


@pytest.mark.parametrize(
    ("arguments", "help_of"),
    [
        (["fly"], "skeletonhunter"),
        (["up", "--fly"], "skeletonhunter up"),
        (["up", "--port", "many"], "skeletonhunter up"),
        (["up", "--port", "70000"], "skeletonhunter up"),
        (["diagnose"], "skeletonhunter diagnose"),
        (["keys", "host"], "skeletonhunter keys host"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_code_2_and_one_line_that_names_the_help(
    command: Command, arguments: list[str], help_of: str
) -> None:
    done = command(*arguments)
    assert done.code == 2
    assert done.error_line.endswith(f"; see {help_of} --help\n")


@pytest.mark.parametrize("arguments", [[], ["migrate"]], ids=["no command", "migrate"])
def test_a_command_without_arguments_is_code_2_with_its_help(
    command: Command, arguments: list[str]
) -> None:
    done = command(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(" ".join(["Usage: skeletonhunter", *arguments]))
    assert "\n\nCommands:\n" in done.err


def test_a_start_that_is_no_time_is_named_with_an_example(command: Command) -> None:
    done = command("simulate", "small", "--start", "noon", "--out", "never")
    assert done.code == 2
    assert "--start noon: no time; write 2026-01-31T12:00:00Z" in done.error_line


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "small", "--start", "9999-01-01T00:00:00Z", "--out", "never"],
        ["simulate", "small", "--start", "0001-01-01T00:00:00Z", "--out", "never"],
        ["check", "series", "BINARY", "--windows", "BINARY"],
        ["check", "score", "BINARY", "BINARY"],
        ["diagnose", "BINARY"],
        ["diagnose", "RECORDS", "--topology", "BINARY"],
        ["up", "--topology", "BINARY"],
        ["demo", "--strategy", "guess"],
    ],
    ids=" ".join,
)
def test_unusable_input_is_code_2_and_no_internal_error(
    command: Command, small: Written, tmp_path: Path, arguments: list[str]
) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(128, 256)) * 8)
    places = {"BINARY": str(binary), "RECORDS": str(small.pings)}
    done = command(*(places.get(each, each) for each in arguments))
    assert (done.code, done.out) == (2, "")
    assert done.error_line.startswith("skeletonhunter: ")


@pytest.mark.parametrize(
    "error",
    [RuntimeError("a\x1b[2J defect\nof two lines"), KeyError("x"), RecursionError(), MemoryError(),
     AssertionError(), ModuleNotFoundError("No module named 'schemas.x'", name="schemas.x")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_an_internal_error_is_code_70_one_line_and_a_file(
    command: Command, own_directory: Path, error: Exception
) -> None:
    done = command.with_application(failing_with(error))()
    assert done.code == 70
    line = done.error_line
    assert line.startswith(f"skeletonhunter: internal error: {type(error).__name__}")
    assert "\x1b" not in line
    (path,) = re.findall(r"please report it with (\S+)$", line.strip())
    assert Path(path).parent == own_directory
    assert Path(path).stat().st_mode & 0o077 == 0, "a traceback may quote what is secret"
    assert "Traceback (most recent call last)" in Path(path).read_text()


def test_an_internal_error_without_a_file_is_one_line_with_its_place(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    done = command.with_application(failing_with(RuntimeError("x")))()
    assert done.code == 70
    assert re.search(r"raised at \S+test_cli\.py:\d+; its traceback cannot", done.error_line)


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (ConnectionRefusedError("no"), 3)]
)
def test_an_interrupt_is_code_130_and_a_refused_connection_code_3(
    command: Command, error: BaseException, code: int
) -> None:
    assert command.with_application(failing_with(error))().code == code


def test_a_missing_package_of_the_extra_is_named_with_what_to_install(command: Command) -> None:
    missing = ModuleNotFoundError("No module named 'no_such_package'", name="no_such_package.x")
    done = command.with_application(failing_with(missing))()
    assert done.code == 2
    assert "no_such_package.x is not installed" in done.error_line
    assert "pip install 'skeletonhunter[server]'" in done.error_line


def test_a_closed_standard_output_is_code_141() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "skeletonhunter.cli", "topics"],
        stdout=writer, stderr=subprocess.PIPE, check=False, timeout=600,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b""), "1 means that something was found"


_COUNT_THREADS = """
import os, typer
from skeletonhunter import cli

def build():
    app = typer.Typer()

    @app.command()
    def count():
        import numpy as np
        from scipy import linalg

        square = np.ones((2000, 2000))
        linalg.norm(square @ square)
        print(len(os.listdir("/proc/self/task")))

    return app

cli.main([], build=build)
"""


@pytest.mark.parametrize(("chosen", "threads"), [(None, 1), ("2", 2)])
def test_linear_algebra_takes_one_thread_unless_the_environment_says_otherwise(
    chosen: str | None, threads: int
) -> None:
    name = "OPENBLAS_NUM_THREADS"
    others = {key: value for key, value in os.environ.items() if key != name}
    environment = others if chosen is None else {**others, name: chosen}
    done = subprocess.run(
        [sys.executable, "-c", _COUNT_THREADS],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    cores = len(os.sched_getaffinity(0))
    assert min(int(done.stdout), 2) == min(threads, cores)
