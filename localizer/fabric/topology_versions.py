"""Topology documents by fabric and by the event time from which each holds. No I/O."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

from schemas.documents.times import seconds_of
from schemas.documents.topology import Topology


class TopologyVersions:
    """Documents in any order, past and future.

    A second that begins at or after a document's ``valid_from`` is judged by it, whenever the
    document came, so that a replay judges by the same one.

    initial  holds before all others; None: the fabric is learnt from records until then
    """

    def __init__(self, initial: Topology | None) -> None:
        self.initial = initial
        self._of: defaultdict[str, list[tuple[float, Topology]]] = defaultdict(list)

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, documents: Iterable[Topology]) -> None:
        """Add documents; one of the same fabric and moment replaces the former.

        Raises ValueError when a time cannot be read; then none is added.
        """
        timed = [(seconds_of(d.valid_from) if d.valid_from else 0.0, d) for d in documents]
        for from_s, document in timed:
            versions = self._of[document.fabric]
            at = bisect_right(versions, from_s, key=_from_s)
            if not at or versions[at - 1][0] != from_s:
                versions.insert(at, (from_s, document))
            elif versions[at - 1][1] != document:  # the same one again must not look like a change
                versions[at - 1] = (from_s, document)

    def at(self, fabric: str, second: int) -> Topology | None:
        """The document that holds when a second begins; None without one."""
        versions = self._of.get(fabric, [])
        at = bisect_right(versions, float(second), key=_from_s)
        return versions[at - 1][1] if at else self.initial

    def drop_old(self, fabric: str, second: int) -> None:
        """Drop what others had replaced when a second began, and documents of other fabrics."""
        versions = self._of.get(fabric, [])
        at = bisect_right(versions, float(second), key=_from_s)
        self._of = defaultdict(list, {fabric: versions[max(at - 1, 0) :]})


def _from_s(version: tuple[float, Topology]) -> float:
    return version[0]
