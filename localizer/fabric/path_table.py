"""Rows of skh.windows chunks as paths: the localizer's own index of them, by columns.

A path is described by 18 names; a million of them as Python objects would be gigabytes. Names are
written once in tables, a path holds their codes, and a ``Path`` is made where a person reads one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from localizer.fabric.key_index import GrowableArray, KeyIndex
from schemas.wire.window_chunks import PATH_STRINGS

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_LATELY = 2_000_000  # rows of chunks that are remembered at least
_SPARE_NAMES = 8192  # texts that no path has any more: so many, and as many as paths have, may stay


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


class StringTable:
    """Texts, each written once: text -> code and back."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}

    def __contains__(self, text: object) -> bool:
        return text in self._codes

    def __len__(self) -> int:
        return len(self.texts)

    def code(self, text: str) -> int:
        """Code of a text, which is added if it is new."""
        code = self._codes.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
        return code

    def known(self, texts: Iterable[str]) -> dict[str, int]:
        """Codes of those texts that are there."""
        return {text: self._codes[text] for text in texts if text in self._codes}

    def codes(self, texts: Iterable[str]) -> I32:
        """(n,) codes of some texts."""
        codes, many = self._codes, list(texts)
        for text in many:
            if text not in codes:
                self.code(text)
        return np.array([codes[text] for text in many], np.int32)


Tables = dict[str, StringTable]


def table_of(field: str) -> str:
    """Both ends of a path share a table, so that equal names have equal codes."""
    return field.removeprefix("src_").removeprefix("dst_")


class Paths(Sequence[Path]):
    """Descriptions of n paths.

    ids    (n,) path ids
    codes  (18, n) per field of windows.PATH_STRINGS, codes in ``tables[table_of(field)]``
    ports  (2, n) source and destination port
    """

    _ROW: ClassVar = {name: row for row, name in enumerate(PATH_STRINGS)}

    def __init__(self, ids: U64, codes: I32, ports: I32, tables: Tables) -> None:
        self.ids, self.codes, self.ports, self.tables = ids, codes, ports, tables

    @classmethod
    def of(cls, paths: Iterable[Path], tables: Tables | None = None) -> Paths:
        """The columns of some paths."""
        tables = new_tables() if tables is None else tables
        rows = list(paths)
        ids, *texts = zip(*rows, strict=True) if rows else [()] * len(Path._fields)
        names = [tables[table_of(f)].codes(t) for f, t in zip(PATH_STRINGS, texts, strict=False)]
        ports = np.array(texts[-2:], np.int32).reshape(2, len(rows))
        return cls(np.array(ids, np.uint64), np.vstack(names), ports, tables)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Path: ...
    @overload
    def __getitem__(self, at: slice) -> Paths: ...
    def __getitem__(self, at: int | slice) -> Path | Paths:
        if isinstance(at, slice):
            return Paths(self.ids[at], self.codes[:, at], self.ports[:, at], self.tables)
        names = [
            self.tables[table_of(field)].texts[code]
            for field, code in zip(PATH_STRINGS, self.codes[:, at].tolist(), strict=True)
        ]
        return Path(int(self.ids[at]), *names, *self.ports[:, at].tolist())

    def __iter__(self) -> Iterator[Path]:
        return (self[row] for row in range(len(self)))

    def column(self, field: str) -> I32:
        """(n,) codes of one field."""
        codes: I32 = self.codes[self._ROW[field]]
        return codes

    def table(self, field: str) -> StringTable:
        """The table of one field's codes."""
        return self.tables[table_of(field)]

    def mask(self, field: str, text: str) -> Bool:
        """(n,) paths whose field is that text."""
        return np.asarray(self.column(field) == self.table(field).code(text))

    def under(self, tables: Tables) -> Paths:
        """The same paths by the codes of other tables."""
        if tables is self.tables:
            return self
        codes = np.empty_like(self.codes)
        for row, field in enumerate(PATH_STRINGS):
            used, back = np.unique(self.codes[row], return_inverse=True)
            texts = self.table(field).texts
            codes[row] = tables[table_of(field)].codes(texts[c] for c in used.tolist())[back]
        return Paths(self.ids, codes, self.ports, tables)


def new_tables() -> Tables:
    """Empty tables for all fields."""
    return {table_of(field): StringTable() for field in PATH_STRINGS}


class PathIndex:
    """path_id -> dense row, growing; ``paths`` holds the descriptions in row order."""

    def __init__(self) -> None:
        self.tables = new_tables()
        self._keys = KeyIndex()
        self._ids = GrowableArray(np.uint64)
        self._codes = GrowableArray(np.int32, len(PATH_STRINGS))
        self._ports = GrowableArray(np.int32, 2)
        self._lately: dict[tuple[int, ...], tuple[U64, I64]] = {}
        self._remembered = 0
        self._used = 0  # texts that paths had when that was last counted

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def paths(self) -> Paths:
        """All paths, as of now."""
        return Paths(self._ids.now, self._codes.now, self._ports.now, self.tables)

    def rows(self, batches: Sequence[pa.RecordBatch]) -> tuple[list[I64], Paths]:
        """(n,) row of each path of some chunks, and the paths that were new."""
        known = len(self)
        ids = [batch.column(0).to_numpy() for batch in batches]
        rows = [self._recall(each) for each in ids]
        fresh = [number for number, each in enumerate(rows) if each is None]
        if fresh:  # at once, for each step has its own price
            edges = np.cumsum([0, *(len(ids[number]) for number in fresh)])
            codes, new = self._keys.code(np.concatenate([ids[number] for number in fresh]))
            self._append([batches[number] for number in fresh], new, edges)
            for number, mine in zip(fresh, np.split(codes, edges[1:-1]), strict=True):
                rows[number] = mine
                self._remember(ids[number], mine)
        return [each for each in rows if each is not None], self.paths[known:]

    def _recall(self, ids: U64) -> I64 | None:
        """Second after second, the same paths are probed."""
        last = self._lately.get(_sign(ids))
        return last[1] if last is not None and np.array_equal(last[0], ids) else None

    def _remember(self, ids: U64, rows: I64) -> None:
        if self._remembered + len(ids) > max(_LATELY, 4 * len(self)):
            self._forget()
        # Copies, or they would hold on to the whole message.
        self._lately[_sign(ids)] = (ids.copy(), rows.copy())
        self._remembered += len(ids)

    def keep(self, rows: Bool) -> None:
        """Drop all other rows; the rest move up."""
        self._keys.keep(rows)
        for column in (self._ids, self._codes, self._ports):
            column.keep(rows)
        self._forget()

    @property
    def names(self) -> int:
        """Texts in all tables."""
        return sum(map(len, self.tables.values()))

    def compact(self, *, always: bool = False) -> bool:
        """Write the tables anew when most of their texts belong to no path; codes change then.

        always  whatever there is to gain
        """
        spare = _SPARE_NAMES + self._used
        if not always and self.names <= self._used + spare:
            return False
        used = {name: np.zeros(len(table), bool) for name, table in self.tables.items()}
        for row, field in enumerate(PATH_STRINGS):
            used[table_of(field)][self._codes.now[row]] = True
        self._used = sum(int(each.sum()) for each in used.values())
        if not always and self.names <= 2 * self._used + _SPARE_NAMES:
            return False
        tables = new_tables()
        for name, mask in used.items():
            texts = self.tables[name].texts
            tables[name].codes(texts[code] for code in np.flatnonzero(mask).tolist())
        for row, field in enumerate(PATH_STRINGS):
            place = np.cumsum(used[table_of(field)]) - 1
            self._codes.now[row] = place[self._codes.now[row]]
        self.tables = tables
        return True

    def _forget(self) -> None:
        self._lately.clear()
        self._remembered = 0

    def _append(self, batches: list[pa.RecordBatch], new: I64, edges: I64) -> None:
        """new: where the new paths stand in all chunks together, rising; edges: of the chunks."""
        total = len(self) + len(new)
        ids, codes, ports = (c.grow(total) for c in (self._ids, self._codes, self._ports))
        bounds = np.searchsorted(new, edges)
        for number, (a, b) in enumerate(pairwise(bounds.tolist())):
            if a == b:
                continue
            batch, at = batches[number], new[a:b] - edges[number]
            ids[a:b] = batch.column(0).to_numpy()[at]
            for row, field in enumerate(PATH_STRINGS):
                codes[row, a:b] = _coded(batch.column(field), at, self.tables[table_of(field)])
            for row, name in enumerate(("src_port", "dst_port")):
                ports[row, a:b] = batch.column(name).to_numpy()[at]


def _sign(ids: U64) -> tuple[int, ...]:
    return (len(ids), *(int(i) for i in (ids[[0, -1]] if len(ids) else ())))


def _coded(column: Any, at: I64, names: StringTable) -> I32:
    """(n,) some values of a dictionary column by the codes of a table."""
    if column.null_count:
        column = column.cast(pa.string()).fill_null("").dictionary_encode()
    indices = column.indices.to_numpy()[at]
    used = np.zeros(len(column.dictionary), bool)
    used[indices] = True
    codes = np.empty(len(used), np.int32)
    codes[used] = names.codes(column.dictionary.filter(pa.array(used)).to_pylist())
    return np.asarray(codes[indices])
