"""What ends a command early, each with its exit code (see docs: exit codes)."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar


class CommandError(Exception):
    """One line for stderr: what, where, what to do."""

    code: ClassVar[int] = 2


class BadSettings(CommandError):
    """A setting cannot be used: correct it."""


class MissingSettings(CommandError):
    """Settings that this command needs are absent."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"{' and '.join(names)} must be set for this command; "
            "or run `skeletonhunter up`, which needs neither"
        )


class BadInput(CommandError):
    """An argument or a file cannot be used."""


class DirectoryInUse(BadInput):
    """Another embedded house lives there: stop it, or give another directory."""

    def __init__(self, data: Path) -> None:
        super().__init__(f"{data}: another `skeletonhunter up` uses it; stop that, or give --data")


class DependencyUnreachable(CommandError):
    """Kafka or ClickHouse does not answer: start it, or correct its address."""

    code: ClassVar[int] = 3
