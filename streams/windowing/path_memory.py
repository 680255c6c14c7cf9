"""Memory of a windower between steps: paths, their source hosts and senders. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from streams.admission.senders import Senders, Sources
from streams.windowing.path_quota import PathQuota, Quota
from streams.windowing.path_table import I32, PathTable
from streams.windowing.windower import Windower


class PathMemory:
    """Everything of a partition that is numbered by path, source host or sender."""

    def __init__(self, quota: Quota) -> None:
        self.table = PathTable()
        self._sender_chars = quota.sender_chars
        self.quota = PathQuota(quota)
        self.sources = Sources()
        self._senders = Senders()

    def senders(self, names: Iterable[str]) -> I32:
        """(n,) code of each sender."""
        codes = self._senders.codes([name[: self._sender_chars] for name in names])
        self.quota.grow(int(codes.max(initial=-1)))
        return codes

    def evict(self, before_s: int, windower: Windower) -> None:
        """Drop paths that were not probed since ``before_s`` and are in no open pane.

        Texts, hosts and senders that no other path refers to go with them. No index may be in use.
        """
        moved = self.table.forget(before_s, windower.held_paths())
        clocks = windower.clocks
        if moved is not None:
            windower.reindex(moved)
            self.quota.reindex(moved)
            clocks.reindex(self.sources.reindex(moved))
        senders = self._senders.retain(np.union1d(self.quota.senders, clocks.senders))
        self.quota.reindex_senders(senders, self.table)
        clocks.reindex_senders(senders)

    def sizes(self) -> dict[str, int]:
        """Entries in memory, by kind [count]."""
        return {
            **self.table.sizes(),
            "sources": len(self.sources.names),
            "senders": len(self._senders.names),
        }
