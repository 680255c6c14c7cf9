"""The suppression log: which components were not reported, why, and for how long. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from localizer.suppression.parameters import DEFAULT

Cause = Literal["maintenance", "placement"]
CAUSES: tuple[Cause, ...] = get_args(Cause)


class Suppression(NamedTuple):
    """A rule's decision not to report a component in one second; ``reason`` is for people."""

    component: str
    cause: Cause
    reason: str


@dataclass(slots=True)
class Suppressed:
    """An entry of the log: one component, one reason, and the seconds [s] it was suppressed for."""

    component: str
    reason: str
    first_s: int
    last_s: int
    seconds: int = 1


class SuppressionLog:
    """Counts what was suppressed; drops the oldest entries beyond ``log_entries``.

    seconds  in which a component would have been reported, summed over components, by cause
    """

    def __init__(self) -> None:
        self.seconds: Counter[Cause] = Counter()
        self._of: dict[tuple[str, str], Suppressed] = {}

    def add(self, suppressions: Iterable[Suppression], second: int) -> None:
        """Record what was suppressed in a second; the same twice in a second counts once."""
        for component, cause, reason in suppressions:
            known = self._of.get((component, reason))
            if known is None or second != known.last_s:
                self.seconds[cause] += 1
            if known is None:
                if len(self._of) >= DEFAULT.log_entries:
                    del self._of[next(iter(self._of))]
                self._of[component, reason] = Suppressed(component, reason, second, second)
            elif second != known.last_s:
                known.last_s = second
                known.seconds += 1

    @property
    def all(self) -> list[Suppressed]:
        """Entries in the order of their first second."""
        return list(self._of.values())
