"""The sender of each path, and how much of a partition's memory one sender may use. No I/O."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.parameters.parameter import parameter
from streams.windowing.path_table import I32, I64, PathTable

Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of one partition.

    paths         five-tuple paths of one sender [count]: an agent's ping list holds at most 65,536
                  five-tuples, and those of the hour before are remembered for ten minutes
    fabrics       fabrics of one sender [count]: a host is in one; a relay or a loader of files may
                  speak for a few
    total         fabrics of all senders [count]: each has a localizer, which costs time every
                  second
    handover_s    a path that its sender has not probed for so long may be another's
    sender_chars  of a sender's name that tell senders apart
    """

    paths: int = parameter(
        131_072, unit="paths", source="chosen: twice the 65,536 five-tuples of a ping list"
    )
    fabrics: int = parameter(
        8, unit="fabrics", source="chosen: pytest tests/streams (hostile senders)"
    )
    total: int = parameter(
        256, unit="fabrics", source="chosen: pytest tests/streams (hostile senders)"
    )
    handover_s: int = parameter(60, unit="s", source="chosen: a container that moved")
    sender_chars: int = parameter(256, unit="characters", source="chosen: bounds the memory")


class PathQuota:
    """Which sender brought each path of a PathTable; codes are those of ``Senders``."""

    def __init__(self, limits: Quota) -> None:
        self._limits = limits
        self.owner: I32 = np.empty(0, np.int32)  # (paths,) code of the sender that brought it
        self._owned: I64 = np.empty(0, np.int64)  # (senders,) paths of each
        self._spoken: defaultdict[int, set[str]] = defaultdict(set)  # sender -> fabrics
        self._fabrics: set[str] = set()

    def grow(self, sender: int) -> None:
        """Make room for sender codes up to this one."""
        if sender >= len(self._owned):
            self._owned = np.pad(self._owned, (0, sender + 1 - len(self._owned)))

    def admit(self, sender: I32, fabric: pa.Array) -> Bool:
        """(n,) which of some new paths may be added; the admitted ones count from now on.

        sender  (n,) code of the sender of each path; fabric (n,) text
        """
        self.grow(int(sender.max()))
        encoded = fabric.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        key = (sender.astype(np.int64) << 32) | encoded.indices.to_numpy().astype(np.int64)
        pairs, of = np.unique(key, return_inverse=True)
        known = [self._admit_fabric(int(k) >> 32, texts[int(k) & 0xFFFFFFFF]) for k in pairs]
        order = np.argsort(sender, kind="stable")
        first = np.searchsorted(sender[order], sender[order])
        rank = np.empty(len(sender), np.int64)
        rank[order] = np.arange(len(sender)) - first
        ok: Bool = np.array(known, bool)[of] & (self._owned[sender] + rank < self._limits.paths)
        self._owned += np.bincount(sender[ok], minlength=len(self._owned))
        self.owner = np.concatenate([self.owner, sender[ok].astype(np.int32)])
        return ok

    def _admit_fabric(self, sender: int, fabric: str) -> bool:
        mine, limits = self._spoken[sender], self._limits
        if fabric in mine:
            return True
        known = fabric in self._fabrics
        if len(mine) >= limits.fabrics or (not known and len(self._fabrics) >= limits.total):
            return False
        mine.add(fabric)
        self._fabrics.add(fabric)
        return True

    def others(self, path: I32, sender: I32, second: I64, last_seen_s: I64) -> Bool:
        """(n,) which records are on a path of another sender, which probes it just now.

        path, sender  (n,) of each record; second (n,) when it was sent [s since the epoch]
        last_seen_s   (paths,) when each path was last probed; 0: it is new
        """
        other: Bool = self.owner[path] != sender
        if other.any():
            seen = last_seen_s[path]
            taken = other & (seen > 0) & (second > seen + self._limits.handover_s)
            for index, new in zip(path[taken].tolist(), sender[taken].tolist(), strict=True):
                self._owned[self.owner[index]] -= 1
                self._owned[new] += 1
                self.owner[index] = new
            other &= self.owner[path] != sender
        return other

    @property
    def senders(self) -> I32:
        """Codes of senders that own a path, sorted, unique."""
        return np.unique(self.owner)

    def reindex(self, moved: I32) -> None:
        """Renumber paths: moved (paths,) is the new index of each old one, -1: gone."""
        self.owner = self.owner[moved[: len(self.owner)] >= 0]

    def reindex_senders(self, moved: I32, table: PathTable) -> None:
        """Renumber senders as ``Senders.retain`` returns, and count what each owns anew."""
        self.owner = moved[self.owner] if len(self.owner) else self.owner
        self._owned = np.bincount(self.owner, minlength=1)
        self._spoken.clear()
        codes, texts = table.fabric_codes(np.arange(len(self.owner), dtype=np.int32))
        for key in np.unique((self.owner.astype(np.int64) << 32) | codes.astype(np.int64)).tolist():
            self._spoken[key >> 32].add(texts[key & 0xFFFFFFFF])
        self._fabrics = {fabric for spoken in self._spoken.values() for fabric in spoken}
