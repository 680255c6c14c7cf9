"""The registry of all parameters: those of the controller, of messages, stages and localizer."""

from __future__ import annotations

from controller import parameters as controller
from schemas.parameters.parameter import Parameter, rows
from streams import parameters as streams


def groups() -> dict[str, object]:
    """Name -> instance with the values in force."""
    return {**streams.groups(), **controller.groups()}


def table() -> list[Parameter]:
    """Every parameter of the product with its value, unit and source."""
    return rows(groups())
