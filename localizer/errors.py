"""Errors of the localizer: one root, one class per remedy."""

from __future__ import annotations

from collections.abc import Iterable


class LocalizerError(Exception):
    """Root of this package's errors."""


class UnknownStrategy(LocalizerError):
    """A name absent from the registry."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"no strategy named {name!r}; choose one of {', '.join(sorted(known))}")
