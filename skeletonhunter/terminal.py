"""Output to a terminal: texts from data are made printable here."""

from __future__ import annotations

import logging
import sys
from typing import Any, TypeVar

import msgspec
import typer

from schemas.printable import printable, printable_lines

Document = TypeVar("Document", bound=msgspec.Struct)


def echo(text: str, *, err: bool = False) -> None:
    """Print lines, names from data made printable; not for JSON, which stays exact."""
    typer.echo(printable_lines(text), err=err)


def shown(document: Document) -> Document:
    """A copy for display: every text in it, keys included, is one printable line."""
    fields = {name: _shown(getattr(document, name)) for name in document.__struct_fields__}
    return msgspec.structs.replace(document, **fields)


def complain(text: str) -> None:
    """Print one line on stderr that begins with the command's name."""
    print(f"skeletonhunter: {printable(' '.join(text.split()))}", file=sys.stderr)


class OneLine(logging.Formatter):
    """Formats a log record as one printable line, followed by its traceback if it has one."""

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
