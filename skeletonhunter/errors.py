"""Errors that end a command, one class per remedy, each with its exit code (see ``cli``)."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

_EXAMPLES: Final = {
    "SKH_KAFKA": "kafka:9092",
    "SKH_CLICKHOUSE_URL": "http://default@clickhouse:8123/default",
}


class CommandError(Exception):
    """The text is one line for stderr: what is wrong, where, what to do."""

    code: ClassVar[int] = 2


class BadSettings(CommandError):
    """A setting has an unusable value: correct it."""


class MissingSettings(CommandError):
    """Settings that this command needs are absent: set them."""

    def __init__(self, names: list[str]) -> None:
        example = " ".join(f"{name}={_EXAMPLES[name]}" for name in names)
        super().__init__(f"{' and '.join(names)} must be set for this command, as in {example}")


class BadInput(CommandError):
    """An argument or a file cannot be used: correct it."""


class DirectoryInUse(BadInput):
    """Another embedded runtime uses the directory: stop it, or give another one."""

    def __init__(self, data: Path) -> None:
        super().__init__(
            f"{data}: another `skeletonhunter up` uses it; stop that one, or give another --data"
        )


class DependencyUnreachable(CommandError):
    """Kafka or ClickHouse does not answer: start it, or correct its address."""

    code: ClassVar[int] = 3
