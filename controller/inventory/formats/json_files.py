"""JSON of files as operators save them: one value, or several one after another. No I/O."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any, Final

_BOM: Final = b"\xef\xbb\xbf"
#: Endings of saved command output that are no part of a device's name: ``h1.lldp.json``.
_ENDINGS: Final = frozenset({".json", ".txt", ".lldp", ".addr", ".ip", ".table", ".log", ".out"})


class NotJson(ValueError):
    """The text is no JSON; one line: where, what."""


def text_of(raw: bytes, file: str) -> str:
    """The text of a file; raises NotJson where it is no UTF-8."""
    try:
        return raw.removeprefix(_BOM).decode()
    except UnicodeDecodeError as why:
        raise NotJson(f"{file}: not UTF-8 text (byte {why.start}); save it as UTF-8") from None


def values_of(raw: bytes, file: str) -> list[Any]:
    """All JSON values of a file, in order; raises NotJson, also when there is none."""
    text = text_of(raw, file)
    decoder, at, values = json.JSONDecoder(), 0, []
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as why:  # also a number of too many digits
            line = getattr(why, "lineno", text.count("\n", 0, at) + 1)
            what = getattr(why, "msg", "") or str(why).partition(";")[0]
            raise NotJson(
                f"{file}:{line}: not JSON: {what}; save the command's output again"
            ) from why
        values.append(value)
    if not values:
        raise NotJson(f"{file}: empty; save the command's output again")
    return values


def device_of(file: str) -> str:
    """The device that a file is named for: ``out/h1.lldp.json`` is of h1."""
    path = PurePath(file)
    while path.suffix.lower() in _ENDINGS:
        path = path.with_suffix("")
    return path.name
