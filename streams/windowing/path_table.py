"""The windower's memory of paths: path_id -> dense index and description."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas import identity
from schemas.wire import window_chunks
from schemas.wire.ping_columns import column

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]


_DESCRIBED = 3  # descriptions that are remembered: of two panes in turn, and of a window


class _Names:
    """Texts of one description column, each stored once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._code: dict[str, int] = {}
        self._array = pa.array([], pa.string())

    @property
    def array(self) -> pa.Array:
        """The texts as a column."""
        if len(self._array) < len(self.texts):
            self._array = pa.array(self.texts, pa.string())
        return self._array

    def keep(self, used: I32) -> None:
        """Forget all texts but some, by code (sorted, unique); codes close the gaps."""
        self.texts = [self.texts[code] for code in used.tolist()]
        self._code = {text: code for code, text in enumerate(self.texts)}
        self._array = pa.array(self.texts, pa.string())

    def codes(self, values: pa.Array) -> list[int]:
        encoded = values.dictionary_encode()
        table = []
        for text in encoded.dictionary.to_pylist():
            code = self._code.get(text)
            if code is None:
                code = self._code[text] = len(self.texts)
                self.texts.append(text)
            table.append(code)
        return [table[i] for i in encoded.indices.to_pylist()]


class PathTable:
    """Grows by one row for each five-tuple path that is seen for the first time.

    Indices are dense and stable until ``forget``. Rows hold what ``wire.window_chunks`` says
    about a path, as codes into the texts of each column.
    """

    def __init__(self) -> None:
        self._sorted_ids: U64 = np.empty(0, np.uint64)
        self._sorted_index: I32 = np.empty(0, np.int32)
        self.ids: U64 = np.empty(0, np.uint64)
        self.last_seen_s: I64 = np.empty(0, np.int64)
        self._names = [_Names() for _ in window_chunks.PATH_STRINGS]
        self._codes: I32 = np.empty((len(window_chunks.PATH_STRINGS), 0), np.int32)
        self._ports: I32 = np.empty((0, 2), np.int32)
        self._described: deque[tuple[I32, list[pa.Array]]] = deque(maxlen=_DESCRIBED)

    def __len__(self) -> int:
        return len(self.ids)

    def index(
        self,
        batch: pa.RecordBatch,
        ids: U64,
        at: I64 | None = None,
        admit: Callable[[I64], npt.NDArray[np.bool_]] | None = None,
    ) -> I32:
        """(n,) dense index of some rows' paths; unknown paths are added.

        batch  ping records accepted by ``schemas.wire.codecs``
        ids    (rows,) their path_ids
        at     (n,) which rows; None: all
        admit  asked which of some rows, the first of each unknown path, may add it; the index of
               a path that is not added is -1. None: all may
        """
        where = np.arange(len(ids)) if at is None else at
        ids = ids[where]
        found, known = self._find(ids)
        if not known.all():
            rows = np.flatnonzero(~known)
            _, first = np.unique(ids[rows], return_index=True)
            new = rows[np.sort(first)]
            if admit is not None:
                new = new[admit(where[new])]
            if len(new):
                self._add(batch.take(pa.array(where[new])), ids[new])
            found, known = self._find(ids)
            if not known.all():
                index = np.full(len(ids), -1, np.int32)
                index[known] = self._sorted_index[found[known]]
                return index
        return self._sorted_index[found]

    def _find(self, ids: U64) -> tuple[I64, npt.NDArray[np.bool_]]:
        if not len(self._sorted_ids):
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), bool)
        at = np.minimum(np.searchsorted(self._sorted_ids, ids), len(self._sorted_ids) - 1)
        return at, self._sorted_ids[at] == ids

    def _add(self, rows: pa.RecordBatch, ids: U64) -> None:
        codes = [
            names.codes(identity.filled(rows, name))
            for names, name in zip(self._names, window_chunks.PATH_STRINGS, strict=True)
        ]
        ports = [column(rows, name, 0).to_numpy() for name in ("src_port", "dst_port")]
        self._codes = np.hstack([self._codes, np.array(codes, np.int32)])
        self._ports = np.vstack([self._ports, np.stack(ports, 1).astype(np.int32)])
        self.ids = np.concatenate([self.ids, ids])
        self.last_seen_s = np.concatenate([self.last_seen_s, np.zeros(len(ids), np.int64)])
        self._sort()

    def _sort(self) -> None:
        order = np.argsort(self.ids)
        self._sorted_ids = self.ids[order]
        self._sorted_index = order.astype(np.int32)

    def fabric_codes(self, rows: I32) -> tuple[I32, list[str]]:
        """(rows,) fabric of each path as a code, and the texts."""
        return self._codes[0, rows], self._names[0].texts

    def fabrics(self) -> set[str]:
        """Fabrics of all paths."""
        return set(self._names[0].texts)

    def describe(self, rows: I32) -> list[pa.Array]:
        """Columns of ``window_chunks.PATH_FIELDS`` for some paths; names once per chunk."""
        for described, known in self._described:
            if np.array_equal(rows, described):  # every few seconds, the same paths are probed
                return list(known)
        columns: list[pa.Array] = [pa.array(self.ids[rows])]
        for names, codes in zip(self._names, self._codes[:, rows], strict=True):
            used = np.zeros(len(names.texts), bool)
            used[codes] = True
            texts = names.array.take(pa.array(np.flatnonzero(used)))
            place = (np.cumsum(used) - 1).astype(np.int32)
            columns.append(pa.DictionaryArray.from_arrays(place[codes], texts))
        columns += [pa.array(self._ports[rows, 0]), pa.array(self._ports[rows, 1])]
        self._described.append((rows, columns))
        return list(columns)

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
        self.ids, self.last_seen_s = self.ids[keep], self.last_seen_s[keep]
        self._codes, self._ports = self._codes[:, keep], self._ports[keep]
        for names, codes in zip(self._names, self._codes, strict=True):
            used, codes[:] = np.unique(codes, return_inverse=True)
            names.keep(used)
        self._sort()
        return moved

    def sizes(self) -> dict[str, int]:
        """Paths and texts that are remembered [count]."""
        return {"paths": len(self), "texts": sum(len(names.texts) for names in self._names)}
