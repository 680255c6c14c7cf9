"""Output to a terminal: texts from data are made printable here."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, Final, TextIO, TypeVar

import msgspec
import typer

from schemas.printable import printable, printable_lines
from skeletonhunter import log_lines

Document = TypeVar("Document", bound=msgspec.Struct)
_AGAIN_S: Final = 0.2
_WIDTH: Final = 78


def echo(text: str, *, err: bool = False) -> None:
    """Print lines, names from data made printable; not for JSON, which stays exact."""
    typer.echo(printable_lines(text), err=err)


def write_result(rows: bytes) -> None:
    """Write a result for programs, exactly.

    On a terminal, control characters but tabs and line feeds are escaped.
    """
    sys.stdout.flush()
    if sys.stdout.isatty():
        text = rows.decode("utf-8", "replace")
        sys.stdout.write("\t".join(map(printable_lines, text.split("\t"))))
    else:
        sys.stdout.buffer.write(rows)


def announce(text: str) -> None:
    """Print what a part does now; as a line of its log where the log is JSON."""
    if not log_lines.emit(logging.INFO, text):
        echo(text)


def shown(document: Document) -> Document:
    """A copy for display: every text in it, keys included, is one printable line."""
    fields = {name: _shown(getattr(document, name)) for name in document.__struct_fields__}
    return msgspec.structs.replace(document, **fields)


class Progress:
    """One line on a terminal that is written again and again; nothing where it is no terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shows = self._stream.isatty()
        self._next_s = 0.0

    def __call__(self, text: str) -> None:
        """Show how far it is, at most five times a second."""
        if self._shows and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _AGAIN_S
            self._stream.write(f"\r{printable(text)[:_WIDTH]:<{_WIDTH}}")
            self._stream.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self._shows and self._next_s:
            self._stream.write(f"\r{'':<{_WIDTH}}\r")
            self._stream.flush()
            self._next_s = 0.0


def complain(text: str) -> None:
    """Print one line on stderr that begins with the command's name, or is JSON as the log is."""
    line = " ".join(text.split())
    level = logging.INFO if line.startswith("info: ") else logging.ERROR
    if not log_lines.emit(level, line):
        print(f"skeletonhunter: {printable(line)}", file=sys.stderr)


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if isinstance(value, dict):
        return {_shown(name): _shown(each) for name, each in value.items()}
    return value
