"""Decoding a JSON document; an error is one line that says what is wrong and where."""

from __future__ import annotations

import difflib
import re
from typing import Any, Final, TypeVar, get_args, get_type_hints

import msgspec

Document = TypeVar("Document")

_UNKNOWN: Final = re.compile(r"unknown field `(?P<name>[^`]*)`(?: - at `(?P<path>[^`]*)`)?")
_STEP: Final = re.compile(r"\.([A-Za-z_]\w*)|(\[)")
_MAX_CHARS: Final = 400  # of a reason; a document may contain a name of a megabyte


class DocumentError(ValueError):
    """The document cannot be used; one line: what, where in it, what to do."""


def decode(raw: bytes, kind: type[Document]) -> Document:
    """A document of that kind; raises DocumentError.

    An unknown field is an error that names the nearest known one: a misspelt field must not count
    as absent. Documents with fields of a newer release are read after an upgrade.
    """
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as why:
        raise DocumentError(_reason(str(why), kind)) from why
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
        raise DocumentError(f"not JSON: {_one_line(str(why))}") from why


def nearest(name: str, known: list[str]) -> str:
    """``did you mean x?``, or the first twelve known names."""
    if near := difflib.get_close_matches(name, known, 1):
        return f"did you mean {near[0]!r}?"
    return f"known: {', '.join(sorted(known)[:12])}{', ...' if len(known) > 12 else ''}"


def _reason(text: str, kind: Any) -> str:
    found = _UNKNOWN.search(text)
    if found is None:
        return _one_line(text)
    fields = _fields(kind, found["path"] or "$")
    where = f" at `{found['path']}`" if found["path"] else ""
    return _one_line(f"unknown field {found['name']!r}{where}; {nearest(found['name'], fields)}")


def _fields(kind: Any, path: str) -> list[str]:
    """Names of the fields of the struct at a path such as ``$.hosts[...].rnics[...]``."""
    for name, _ in _STEP.findall(path):
        if not name:
            kind = next((each for each in get_args(kind) if each is not type(None)), object)
            continue
        own = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
        kind = get_type_hints(kind)[own[name]]
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_MAX_CHARS]
