"""The registry of all parameters: those of the stream stages, and those of the localizer."""

from __future__ import annotations

from localizer import parameters as localizer
from schemas.parameters.parameter import Parameter, rows
from streams.windowing.path_quota import Quota


def groups() -> dict[str, object]:
    """Name -> instance with the values in force."""
    return {"streams.windowing.quota": Quota(), **localizer.groups()}


def table() -> list[Parameter]:
    """Every parameter of the product with its value, unit and source."""
    return rows(groups())
