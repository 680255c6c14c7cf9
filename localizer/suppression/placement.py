"""Which containers may speak: the localizer's copy of skh.placement."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Container, Iterable
from typing import NamedTuple

from schemas.documents.placement import Placement, State
from schemas.documents.times import seconds_of

KEPT_S = 3600  # of what has been superseded
UNSEEN_S = 86_400  # of a container that nothing is measured of


class _Since(NamedTuple):
    from_s: float
    node_sn: str
    state: State


class Placements:
    """Where each container was when; documents may come in any order, at any time."""

    def __init__(self) -> None:
        self._since: dict[str, list[_Since]] = {}
        self._restless: set[str] = set()  # containers that are not simply ready

    def __len__(self) -> int:
        return len(self._since)

    def take(self, documents: Iterable[Placement]) -> None:
        """Learn some documents; a second one for the same moment counts instead of the first.

        Raises ValueError when a time cannot be read.
        """
        for doc in documents:
            new = _Since(seconds_of(doc.valid_from), doc.node_sn, doc.state)
            known = self._since.setdefault(doc.node_id, [])
            known[:] = [each for each in known if each.from_s != new.from_s]
            insort(known, new)
            if _restless(known):
                self._restless.add(doc.node_id)

    def unready(self, second: int) -> dict[str, tuple[str, State]]:
        """Containers that were not ready at some moment of this second, or have changed hosts.

        node_id -> host and state; ``ready`` is said only of those that may be sought elsewhere
        """
        out: dict[str, tuple[str, State]] = {}
        for box in self._restless:
            known = self._since[box]
            at = [each for t in (second, second + 1) if (each := _at(known, t)) is not None]
            if at:
                worst = next((each for each in reversed(at) if each.state != "ready"), at[-1])
                if worst.state != "ready" or len({each.node_sn for each in known}) > 1:
                    out[box] = worst.node_sn, worst.state
        return out

    def __contains__(self, box: object) -> bool:
        return box in self._since

    def forget(self, second: int, seen: Container[str] = ()) -> None:
        """Drop what was superseded or gone long ago, and containers that are not ``seen`` for long.

        seen  containers that paths end in
        """
        for box, known in list(self._since.items()):
            while len(known) > 1 and known[1].from_s < second - KEPT_S:
                del known[0]
            last = known[-1]
            kept_s = KEPT_S if last.state == "gone" else UNSEEN_S
            if last.from_s < second - kept_s and (last.state == "gone" or box not in seen):
                del self._since[box]
        self._restless = {box for box, known in self._since.items() if _restless(known)}


def _restless(known: list[_Since]) -> bool:
    return len(known) > 1 or known[0].state != "ready"


def _at(known: list[_Since], time_s: float) -> _Since | None:
    at = bisect_right(known, time_s, key=lambda each: each.from_s)
    return known[at - 1] if at else None
