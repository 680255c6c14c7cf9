"""Where containers run and whether they are ready: the localizer's copy of skh.placement."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Container, Iterable
from typing import NamedTuple

from localizer.suppression.parameters import DEFAULT
from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import State
from schemas.documents.times import seconds_of


class _Since(NamedTuple):
    from_s: float
    node_sn: str
    state: State


class Placements:
    """Where each container was when; documents may come in any order, at any time."""

    def __init__(self) -> None:
        self._since: dict[str, list[_Since]] = {}
        self._changing: set[str] = set()  # containers that are not simply ready

    def __len__(self) -> int:
        return len(self._since)

    def add(self, documents: Iterable[Placement]) -> None:
        """Add documents; one of the same container and moment replaces the former.

        Raises ValueError when a time cannot be read.
        """
        for doc in documents:
            new = _Since(seconds_of(doc.valid_from), doc.node_sn, doc.state)
            known = self._since.setdefault(doc.node_id, [])
            known[:] = [each for each in known if each.from_s != new.from_s]
            insort(known, new)
            if _changes(known):
                self._changing.add(doc.node_id)

    def unready(self, second: int) -> dict[str, tuple[str, State]]:
        """Containers that were not ready at some moment of this second, or have changed hosts.

        returns  node_id -> host and state; the state is ``ready`` where paths to the container may
                 still name its former host
        """
        out: dict[str, tuple[str, State]] = {}
        for name in self._changing:
            known = self._since[name]
            at = [each for t in (second, second + 1) if (each := _at(known, t)) is not None]
            if at:
                worst = next((each for each in reversed(at) if each.state != "ready"), at[-1])
                if worst.state != "ready" or len({each.node_sn for each in known}) > 1:
                    out[name] = worst.node_sn, worst.state
        return out

    def __contains__(self, name: object) -> bool:
        return name in self._since

    def drop_old(self, second: int, seen: Container[str] = ()) -> None:
        """Drop states that were replaced long ago, containers gone long ago, and those unseen.

        seen  containers that paths end in
        """
        for name, known in list(self._since.items()):
            while len(known) > 1 and known[1].from_s < second - DEFAULT.replaced_s:
                del known[0]
            last = known[-1]
            kept_s = DEFAULT.replaced_s if last.state == "gone" else DEFAULT.unseen_s
            if last.from_s < second - kept_s and (last.state == "gone" or name not in seen):
                del self._since[name]
        self._changing = {name for name, known in self._since.items() if _changes(known)}


def _changes(known: list[_Since]) -> bool:
    return len(known) > 1 or known[0].state != "ready"


def _at(known: list[_Since], time_s: float) -> _Since | None:
    at = bisect_right(known, time_s, key=lambda each: each.from_s)
    return known[at - 1] if at else None
