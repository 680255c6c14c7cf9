"""A field of a parameter dataclass, and the table of all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T")

_UNIT: Final = "unit"
_SOURCE: Final = "source"


class Parameter(NamedTuple):
    """One row of the table of parameters.

    name    dotted: the dataclass's name in the registry, then the field's
    value   its default
    unit    of the value; "1" for a plain number, "text" and "flag" for what is no number
    source  a paper, a measurement, or "chosen: " and the command that shows its effect
    """

    name: str
    value: Any
    unit: str
    source: str


def parameter(default: T, *, unit: str, source: str) -> T:
    """Declare a field of a frozen dataclass together with its unit and its source.

    Typed as its default, so that ``x: float = parameter(1.0, ...)`` checks like ``x: float = 1.0``.
    Raises ValueError when unit or source is empty.
    """
    if not unit or not source:
        raise ValueError(f"the parameter with default {default!r} needs a unit and a source")
    return dataclasses.field(default=default, metadata={_UNIT: unit, _SOURCE: source})


def declares_parameters(candidate: object) -> bool:
    """Whether this is a dataclass with at least one field made by ``parameter``."""
    return isinstance(candidate, type) and any(
        _SOURCE in each.metadata for each in _fields(candidate)
    )


def rows(groups: Mapping[str, object]) -> list[Parameter]:
    """Every parameter of some dataclass instances, by the name of each, in order of declaration.

    A field that is itself an instance of a dataclass is listed field by field. Fields
    without metadata (call-backs, inputs) are left out.
    """
    return [row for name, group in groups.items() for row in _rows(name, group)]


def _rows(name: str, group: object) -> Iterator[Parameter]:
    for each in _fields(type(group)):
        value = getattr(group, each.name)
        if dataclasses.is_dataclass(value):
            yield from _rows(f"{name}.{each.name}", value)
        elif _SOURCE in each.metadata:
            unit, source = each.metadata[_UNIT], each.metadata[_SOURCE]
            yield Parameter(f"{name}.{each.name}", value, unit, source)


def _fields(candidate: type) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(candidate) if dataclasses.is_dataclass(candidate) else ()
