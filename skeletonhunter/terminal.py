"""What the command writes to a terminal: text from data passes through ``printable`` here."""

from __future__ import annotations

import logging
import sys
from typing import Any, TypeVar

import msgspec
import typer

from schemas.printable import printable, printable_lines

Document = TypeVar("Document", bound=msgspec.Struct)


def echo(text: str, *, err: bool = False) -> None:
    """Write lines that may hold names from data; not for JSON, which stays exact."""
    typer.echo(printable_lines(text), err=err)


def shown(document: Document) -> Document:
    """A copy for display: every text in it is one printable line, names of fields too."""
    fields = {name: _shown(getattr(document, name)) for name in document.__struct_fields__}
    return msgspec.structs.replace(document, **fields)


def complain(text: str) -> None:
    """One line on stderr, in the command's name."""
    print(f"skeletonhunter: {printable(' '.join(text.split()))}", file=sys.stderr)


class OneLine(logging.Formatter):
    """A log record as one printable line, and its traceback below, if it has one."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return printable_lines(super().formatException(ei))


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if isinstance(value, dict):
        return {_shown(name): _shown(each) for name, each in value.items()}
    return value
