"""Maintenance windows of one fabric: verdicts on components under maintenance are suppressed."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple

from localizer.suppression.parameters import DEFAULT
from schemas.component_ids import kind_of, link_ends
from schemas.documents.maintenance import Maintenance
from schemas.documents.times import seconds_of


class _Window(NamedTuple):
    component: str
    from_s: float
    until_s: float
    reason: str


class MaintenanceWindows:
    """Maintenance windows of one fabric, in any order, past and future."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, float], _Window] = {}  # component, beginning

    def __len__(self) -> int:
        return len(self._of)

    def add(self, documents: Iterable[Maintenance]) -> None:
        """Add windows; one of the same component and beginning replaces the former.

        Raises ValueError when a time cannot be read.
        """
        for doc in documents:
            window = _Window(
                doc.component, seconds_of(doc.start), seconds_of(doc.until), doc.reason.strip()
            )
            self._of.pop(window[:2], None)
            self._of[window[:2]] = window

    def reason(self, components: Set[str], second: int, holders: dict[str, set[str]]) -> str | None:
        """Why a verdict on any of these components is suppressed in a second; None: it is not.

        holders  component -> what contains it (its host, pod, fabric)
        """
        around = set(components).union(*(_around(each, holders) for each in components))
        for window in self._of.values():
            now = window.from_s < second + 1 and second < window.until_s
            if now and window.component in around:
                return f"{window.component} is under maintenance: {window.reason}"
        return None

    def drop_ended(self, second: int) -> None:
        """Drop windows that ended more than ``ended_s`` before a second."""
        over = [key for key, each in self._of.items() if each.until_s < second - DEFAULT.ended_s]
        for key in over:
            del self._of[key]


def _around(component: str, holders: dict[str, set[str]]) -> set[str]:
    """What contains a component; a link is held by both of its ends."""
    ends = link_ends(component) if kind_of(component) == "link" else ()
    out: set[str] = set(ends)
    for each in (component, *ends):
        out |= holders.get(each, set())
    return out.union(*(holders.get(each, set()) for each in out))
