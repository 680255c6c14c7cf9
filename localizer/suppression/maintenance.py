"""What is not told, and why: maintenance windows, and the account of everything suppressed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from localizer.verdicts.verdict import Verdict
from schemas.component_ids import kind_of, link_ends
from schemas.documents.maintenance import Maintenance
from schemas.documents.times import seconds_of

KEPT_S = 3600  # of maintenance that is over
MOST = 10_000  # suppressions that are remembered

Cause = Literal["maintenance", "placement"]
CAUSES: tuple[Cause, ...] = get_args(Cause)


@dataclass(slots=True)
class Suppressed:
    """One component that was not told of, for one reason: seconds in which it would have been."""

    component: str
    reason: str
    first_s: int
    last_s: int
    seconds: int = 1


class _Window(NamedTuple):
    component: str
    from_s: float
    until_s: float
    reason: str


class MaintenanceWindows:
    """Maintenance windows of one fabric."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, float], _Window] = {}  # component, beginning

    def __len__(self) -> int:
        return len(self._of)

    def take(self, documents: Iterable[Maintenance]) -> None:
        """Learn some documents, before or after their time; a second one for the same component
        and beginning counts instead of the first."""
        for doc in documents:
            window = _Window(
                doc.component, seconds_of(doc.start), seconds_of(doc.until), doc.reason.strip()
            )
            self._of.pop(window[:2], None)
            self._of[window[:2]] = window

    def reason(self, verdict: Verdict, second: int, holders: dict[str, set[str]]) -> str | None:
        """Why a verdict is not told: a component that it may mean is being worked on.

        holders  component -> what contains it (its host, pod, fabric)
        """
        meant = {*verdict.tie_set, *verdict.names}
        around = meant.union(*(_around(each, holders) for each in meant))
        for window in self._of.values():
            now = window.from_s < second + 1 and second < window.until_s
            if now and window.component in around:
                return f"{window.component} is under maintenance: {window.reason}"
        return None

    def forget(self, second: int) -> None:
        """Drop what is long over."""
        over = [key for key, each in self._of.items() if each.until_s < second - KEPT_S]
        for key in over:
            del self._of[key]


def _around(component: str, holders: dict[str, set[str]]) -> set[str]:
    """What contains a component; a link is held by both of its ends."""
    ends = link_ends(component) if kind_of(component) == "link" else ()
    out: set[str] = set(ends)
    for each in (component, *ends):
        out |= holders.get(each, set())
    return out.union(*(holders.get(each, set()) for each in out))


class SuppressionLog:
    """Counts what was suppressed.

    seconds  in which a component would have been told of, summed over components, by cause
    """

    def __init__(self) -> None:
        self.seconds: Counter[Cause] = Counter()
        self._of: dict[tuple[str, str], Suppressed] = {}

    def note(self, component: str, cause: Cause, reason: str, second: int) -> None:
        """It would have been told in this second; ``reason`` tells people the cause."""
        known = self._of.get((component, reason))
        if known is None or second != known.last_s:
            self.seconds[cause] += 1
        if known is None:
            if len(self._of) >= MOST:
                del self._of[next(iter(self._of))]
            self._of[component, reason] = Suppressed(component, reason, second, second)
        elif second != known.last_s:
            known.last_s = second
            known.seconds += 1

    @property
    def all(self) -> list[Suppressed]:
        """In order of their beginning."""
        return list(self._of.values())
