"""No control character of a record, document or file name reaches a terminal."""

from __future__ import annotations

import io
import json
import logging
import sys
from pathlib import Path

import pytest
import typer
from builders.command_line import Command
from builders.control_characters import (
    CONTROL,
    ESCAPED,
    MARKUP,
    hostile_incident,
    is_printable,
)

from probers.process import log
from schemas.documents.incident import encode
from schemas.printable import printable, printable_lines
from skeletonhunter import log_lines, terminal
from skeletonhunter.diagnosis import report
from skeletonhunter.errors import BadInput
from testbed.simulator.files import Written


def test_printable_escapes_unprintable_characters_and_nothing_else() -> None:
    assert printable(CONTROL) == ESCAPED
    assert printable("Zürich 10 µs …") == "Zürich 10 µs …"
    assert printable("a\nb\tc\ud800") == r"a\nb\tc\ud800"
    assert printable_lines("a\nb\x1b") == "a\nb\\x1b"


def test_table_and_explanation_of_an_incident_are_printable() -> None:
    table, explained = (
        report.as_table([hostile_incident()]),
        report.explained(hostile_incident()),
    )
    assert is_printable(table)
    assert is_printable(explained)
    assert f"host:{ESCAPED}" in table
    assert explained.count(ESCAPED) >= 10


def test_a_name_that_looks_like_markup_is_a_name() -> None:
    found = hostile_incident(component=f"host:{MARKUP}", tie_set=[MARKUP, MARKUP], parent=None,
                     evidence={"text": MARKUP})  # fmt: skip
    assert report.as_table([found]).count(MARKUP) == 3


def test_json_of_an_incident_stays_exact() -> None:
    (line,) = report.as_json([hostile_incident()]).splitlines()
    assert json.loads(line) == json.loads(encode(hostile_incident()))
    assert json.loads(line)["component"] == f"host:{CONTROL}"


def test_dead_letters_and_complaints_of_diagnose_are_printable(
    command: Command, tmp_path: Path, small: Written
) -> None:
    file = tmp_path / f"{CONTROL}.ndjson"
    row = json.loads(small.pings.read_bytes().splitlines()[0])
    file.write_text(json.dumps({**row, "dial": CONTROL}) + "\n")
    done = command("diagnose", file)
    assert (done.code, is_printable(done.err)) == (2, True), done.err
    assert ESCAPED in done.err
    absent = command("diagnose", tmp_path / CONTROL)
    assert (absent.code, is_printable(absent.err)) == (2, True)
    fabric = tmp_path / "t.json"
    fabric.write_text(json.dumps({CONTROL: 1}))
    refused = command("diagnose", small.pings, "--topology", fabric)
    assert (refused.code, is_printable(refused.err), ESCAPED in refused.err) == (2, True, True)
    assert is_printable(command("diagnose", file, "--format", "json").err), (
        "the coverage's JSON too"
    )


def test_errors_output_and_log_lines_are_printable(
    capsys: pytest.CaptureFixture[str], command: Command
) -> None:
    def fail() -> typer.Typer:
        raise BadInput(CONTROL)

    done = command.with_application(fail)()
    terminal.echo(f"{CONTROL}\n{CONTROL}")
    log.log_event("info", CONTROL, name=CONTROL)
    record = logging.makeLogRecord({"name": "x", "msg": "%s\n", "args": (CONTROL,)})
    print(log_lines.OneLine("%(message)s").format(record))
    printed = capsys.readouterr()
    text = done.err + printed.out + printed.err
    assert is_printable(text)
    assert text.count(r"\x1b[2J") == 6


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_result_is_exact_in_a_file_and_printable_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = f"a\tb\n{CONTROL}\n".encode()
    file = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", file)
    terminal.write_result(rows)
    file.buffer.seek(0)
    assert file.buffer.read() == rows
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    terminal.write_result(rows)
    assert screen.getvalue().startswith("a\tb\n")
    assert is_printable(screen.getvalue().replace("\t", ""))


def test_progress_is_one_printable_line_that_goes_away() -> None:
    screen = Terminal()
    progress = terminal.Progress(screen)
    progress(f"reading {CONTROL}")
    progress.clear()
    first, blank = screen.getvalue().split("\r")[1:3]
    assert first.startswith("reading ")
    assert is_printable(first)
    assert blank.strip() == ""
    assert "\n" not in screen.getvalue()


def test_progress_is_not_shown_where_it_is_no_terminal() -> None:
    file = io.StringIO()
    progress = terminal.Progress(file)
    progress("reading")
    progress.clear()
    assert file.getvalue() == ""
