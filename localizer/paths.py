"""Rows of skh.windows chunks as paths: the localiser's own index of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas import windows

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]


_LATELY = 256  # chunks whose rows are remembered


class Path(NamedTuple):
    """A five-tuple path as a chunk describes it."""

    path_id: int
    fabric: str
    layer: str
    task_type: str
    src_node_id: str
    src_ip: str
    src_real_ip: str
    src_node_sn: str
    src_asw: str
    src_dsw: str
    src_pod: str
    dst_node_id: str
    dst_ip: str
    dst_real_ip: str
    dst_node_sn: str
    dst_asw: str
    dst_dsw: str
    dst_pod: str
    src_tenant_id: str
    src_port: int
    dst_port: int

    @property
    def flow(self) -> tuple[str, str, str, int, int]:
        """Key of the request's route; traceroutes use the same."""
        return self.layer, self.src_ip, self.dst_ip, self.src_port, self.dst_port

    @property
    def reply(self) -> tuple[str, str, str, int, int]:
        """Key of the answer's route."""
        return self.layer, self.dst_ip, self.src_ip, self.dst_port, self.src_port


class PathIndex:
    """path_id -> dense row, growing; ``paths`` holds the descriptions in row order."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self._ids: U64 = np.empty(0, np.uint64)
        self._rows: I64 = np.empty(0, np.int64)
        self._lately: dict[tuple[int, ...], tuple[U64, I64]] = {}

    def __len__(self) -> int:
        return len(self.paths)

    def rows(self, batch: pa.RecordBatch) -> tuple[I64, list[Path]]:
        """(n,) row of each path of a chunk, and the paths that were new."""
        ids = batch.column(0).to_numpy()
        key = (len(ids), *(int(i) for i in (ids[[0, -1]] if len(ids) else ())))
        last = self._lately.get(key)
        if last is not None and np.array_equal(last[0], ids):
            return last[1], []  # second after second, the same paths are probed
        at, known = self._find(ids)
        new: list[Path] = []
        if not known.all():
            fresh = np.flatnonzero(~known)
            _, first = np.unique(ids[fresh], return_index=True)
            new = _paths(batch.take(pa.array(fresh[np.sort(first)])))
            self.paths += new
            self._sort()
            at, _ = self._find(ids)
        rows: I64 = self._rows[at]
        if len(self._lately) >= _LATELY:
            self._lately.clear()
        self._lately[key] = (ids, rows)
        return rows, new

    def keep(self, rows: npt.NDArray[np.bool_]) -> None:
        """Drop all other rows; the rest move up."""
        self.paths = [path for path, kept in zip(self.paths, rows.tolist(), strict=True) if kept]
        self._sort()

    def _sort(self) -> None:
        self._lately.clear()
        ids = np.fromiter((path.path_id for path in self.paths), np.uint64, len(self.paths))
        self._rows = np.argsort(ids)
        self._ids = ids[self._rows]

    def _find(self, ids: U64) -> tuple[I64, npt.NDArray[np.bool_]]:
        if not len(self._ids):
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), bool)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return at, self._ids[at] == ids


def _paths(batch: pa.RecordBatch) -> list[Path]:
    names = ["path_id", *windows.PATH_STRINGS, "src_port", "dst_port"]
    return [Path(*row) for row in zip(*(batch.column(n).to_pylist() for n in names), strict=True)]
