"""The registry of the controller's parameters: every dataclass that declares some, by name."""

from __future__ import annotations

from controller.tasks import claims, tasks


def groups() -> dict[str, object]:
    """Name -> instance with the values in force, for ``schemas.parameters.parameter.rows``."""
    return {
        "controller.tasks": tasks.DEFAULT,
        "controller.tasks.claims": claims.DEFAULT,
    }
