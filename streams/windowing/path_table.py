"""The windower's path table: paths of ping records, when each was last probed, and its columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from localizer.fabric import path_table
from localizer.fabric.key_index import GrowableArray
from localizer.fabric.path_table import Description, table_name
from schemas import identity
from schemas.compiled.codes import compacted
from schemas.wire import window_chunks
from schemas.wire.ping_columns import column

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_DESCRIBED = 3  # descriptions that are cached: of two panes in turn, and of a window


@dataclass(slots=True)
class _Described:
    """Rows that were described, and their columns once they have been so again: these take 90 B a
    path, for nothing where paths are probed every 10 s."""

    rows: I32
    columns: list[pa.Array] = field(default_factory=list)


class PathTable(path_table.PathTable):
    """Grows by one row for each five-tuple path that is seen for the first time.

    Indices (rows) are dense and stable until ``forget``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last_seen_s = GrowableArray(np.int64)
        self._described: deque[_Described] = deque(maxlen=_DESCRIBED)

    @property
    def ids(self) -> U64:
        """(paths,) path ids."""
        return self.paths.ids

    @property
    def last_seen_s(self) -> I64:
        """(paths,) second of the newest probe, 0 for none yet; to be written by the windower."""
        return self._last_seen_s.values

    def index(
        self,
        batch: pa.RecordBatch,
        ids: U64,
        at: I64 | None = None,
        admit: Callable[[I64], Bool] | None = None,
    ) -> I32:
        """(n,) index of some rows' paths; unknown paths are added.

        batch  ping records accepted by ``schemas.wire.codecs``
        ids    (rows,) their path_ids
        at     (n,) which rows; None: all
        admit  asked which of some rows, the first of each unknown path, may add it; the index of
               a path that is not added is -1. None: all may
        """
        where = np.arange(len(ids)) if at is None else at
        ids = ids[where]
        index = self.find(ids)
        unknown = np.flatnonzero(index < 0)
        if len(unknown):
            new = unknown[np.sort(np.unique(ids[unknown], return_index=True)[1])]
            if admit is not None:
                new = new[admit(where[new])]
            if len(new):
                self._add_rows(batch.take(pa.array(where[new])), ids[new])
                index[unknown] = self.find(ids[unknown])
        return index.astype(np.int32)

    def _add_rows(self, rows: pa.RecordBatch, ids: U64) -> None:
        texts = [identity.filled(rows, name) for name in window_chunks.PATH_STRINGS]
        ports = [column(rows, name, 0) for name in ("src_port", "dst_port")]
        self.add(ids, [Description(texts, ports, np.arange(len(ids)))])
        self._last_seen_s.grow(len(self))

    def fabric_codes(self, rows: I32) -> tuple[I32, list[str]]:
        """(rows,) fabric of each path as a code, and the texts."""
        return self.paths.column("fabric")[rows], self.tables["fabric"].texts

    def fabrics(self) -> set[str]:
        """Fabrics of all paths."""
        return set(self.tables["fabric"].texts)

    def describe(self, rows: I32) -> list[pa.Array]:
        """Columns of ``window_chunks.PATH_FIELDS`` for some paths, as dictionaries."""
        known = next((each for each in self._described if np.array_equal(rows, each.rows)), None)
        if known is not None and known.columns:
            return list(known.columns)
        paths = self.paths
        columns: list[pa.Array] = [pa.array(paths.ids[rows])]
        for name, codes in zip(window_chunks.PATH_STRINGS, paths.codes, strict=True):
            table = self.tables[table_name(name)]
            places, used = compacted(codes, rows, len(table))
            texts = table.array.take(pa.array(used))
            columns.append(pa.DictionaryArray.from_arrays(places, texts, safe=False))
        columns += [pa.array(ports[rows]) for ports in paths.ports]
        if known is None:
            self._described.append(_Described(rows))
        else:
            known.columns = list(columns)
        return columns

    def forget(self, before_s: int, held: I32 | None = None) -> I32 | None:
        """Drop paths not seen since ``before_s``, and texts that no other path uses.

        held     (k,) indices of paths that stay in any case
        returns  (paths,) old -> new index, -1: gone; None: nothing is dropped
        """
        keep = self.last_seen_s >= before_s
        if held is not None:
            keep[held] = True
        self._described.clear()
        if keep.all():
            return None
        moved = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        self.retain(keep)
        self._last_seen_s.retain(keep)
        self.compact(always=True)
        return moved

    def sizes(self) -> dict[str, int]:
        """Paths and texts that are remembered [count]."""
        return {"paths": len(self), "texts": self.texts}
