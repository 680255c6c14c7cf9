"""Rows of the paths in chunks of skh.windows: the localizer's path table. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from localizer.fabric.path_table import I32, I64, U64, Description, Paths, PathTable
from schemas.wire.window_chunks import PATH_STRINGS

_LEAST_CACHED = 2_000_000  # rows of chunks that are cached at least; and four times the paths


class PathIndex(PathTable):
    """A path table that reads chunks, and caches their rows: each second probes the same paths."""

    def __init__(self) -> None:
        super().__init__()
        self._cache: dict[tuple[int, ...], I32] = {}
        self._cached = 0  # rows

    def rows(self, batches: Sequence[pa.RecordBatch]) -> tuple[list[I64], Paths]:
        """(n,) row of each path of some chunks, and the paths that were new."""
        before = len(self)
        ids = [batch.column(0).to_numpy() for batch in batches]
        rows = [self._from_cache(each) for each in ids]
        missed = [number for number, each in enumerate(rows) if each is None]
        if missed:  # all at once: each search has its own cost
            edges = np.cumsum([0, *(len(ids[number]) for number in missed)])
            found = self._add_chunks(
                np.concatenate([ids[number] for number in missed]),
                [batches[number] for number in missed], edges,
            )  # fmt: skip
            for number, mine in zip(missed, np.split(found, edges[1:-1]), strict=True):
                rows[number] = mine
                self._cache_rows(ids[number], mine)
        return [each for each in rows if each is not None], self.paths[before:]

    def retain(self, rows: np.ndarray) -> None:
        """See ``PathTable``."""
        super().retain(rows)
        self._clear_cache()

    def _add_chunks(self, ids: U64, batches: Sequence[pa.RecordBatch], edges: I64) -> I64:
        """(n,) rows of all paths of some chunks; edges: where in ``ids`` each chunk begins."""
        found = self.find(ids)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            new = unknown[np.sort(np.unique(ids[unknown], return_index=True)[1])]
            bounds = np.searchsorted(new, edges)
            self.add(ids[new], (
                Description([batch.column(field) for field in PATH_STRINGS],
                            [batch.column("src_port"), batch.column("dst_port")],
                            new[a:b] - edge)
                for batch, edge, (a, b) in zip(batches, edges, pairwise(bounds), strict=False)
                if a < b
            ))  # fmt: skip
            found[unknown] = self.find(ids[unknown])
        return found

    def _from_cache(self, ids: U64) -> I64 | None:
        rows = self._cache.get(_cache_key(ids))
        if rows is None or not np.array_equal(self.paths.ids[rows], ids):
            return None
        return rows.astype(np.int64)

    def _cache_rows(self, ids: U64, rows: I64) -> None:
        if self._cached + len(ids) > max(_LEAST_CACHED, 4 * len(self)):
            self._clear_cache()
        self._cache[_cache_key(ids)] = rows.astype(np.int32)
        self._cached += len(ids)

    def _clear_cache(self) -> None:
        self._cache.clear()
        self._cached = 0


def _cache_key(ids: U64) -> tuple[int, ...]:
    return (len(ids), *(int(i) for i in (ids[[0, -1]] if len(ids) else ())))
