"""Path table: path_id -> row, and the description of each path by columns. No I/O.

Windower and localizer both number the paths they see. A path is described by 19 texts and two
ports; a million of them as Python objects would take gigabytes. Texts are written once, in string
tables; a path holds their codes, and a ``Path`` is made where a person reads one.

Example: two paths between containers c1 and c2.

    ids     [907, 311]
    codes   src_node_id [0, 1], dst_node_id [1, 0], layer [0, 0], ...
    tables  node_id: c1, c2 (both ends share a table); layer: underlay; ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
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

_SPARE_TEXTS = 8192  # texts of no path that stay at least; and as many as paths have


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
    dst_tenant_id: str
    src_port: int
    dst_port: int


class StringTable:
    """Texts, each stored once: text -> code and back."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}
        self._array = pa.array([], pa.string())

    def __contains__(self, text: object) -> bool:
        return text in self._codes

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def array(self) -> pa.Array:
        """The texts as a column, by code."""
        if len(self._array) < len(self.texts):
            self._array = pa.array(self.texts, pa.string())
        return self._array

    def code(self, text: str) -> int:
        """Code of a text, which is added if it is new."""
        code = self._codes.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
        return code

    def known(self, texts: Iterable[str]) -> dict[str, int]:
        """Codes of those texts that are in the table."""
        return {text: self._codes[text] for text in texts if text in self._codes}

    def find(self, texts: Sequence[str]) -> I32:
        """(n,) codes of some texts, -1 for those that are not in the table."""
        return np.fromiter(map(self._codes.get, texts, repeat(-1)), np.int32, len(texts))

    def codes(self, texts: Iterable[str]) -> I32:
        """(n,) codes of some texts, which are added if they are new."""
        many = list(texts)
        codes = self.find(many)
        for at in np.flatnonzero(codes < 0).tolist():
            codes[at] = self.code(many[at])
        return codes


StringTables = dict[str, StringTable]


def table_name(field: str) -> str:
    """Both ends of a path share a table, so that equal names have equal codes."""
    return field.removeprefix("src_").removeprefix("dst_")


def new_tables() -> StringTables:
    """Empty tables for all fields."""
    return {table_name(field): StringTable() for field in PATH_STRINGS}


class Paths(Sequence[Path]):
    """Descriptions of n paths.

    ids    (n,) path ids
    codes  (19, n) by field of window_chunks.PATH_STRINGS, codes of ``tables[table_name(field)]``
    ports  (2, n) source and destination port
    """

    _ROW: ClassVar = {name: row for row, name in enumerate(PATH_STRINGS)}

    def __init__(self, ids: U64, codes: I32, ports: I32, tables: StringTables) -> None:
        self.ids, self.codes, self.ports, self.tables = ids, codes, ports, tables

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Path: ...
    @overload
    def __getitem__(self, at: slice) -> Paths: ...
    def __getitem__(self, at: int | slice) -> Path | Paths:
        if isinstance(at, slice):
            return Paths(self.ids[at], self.codes[:, at], self.ports[:, at], self.tables)
        texts = [
            self.tables[table_name(field)].texts[code]
            for field, code in zip(PATH_STRINGS, self.codes[:, at].tolist(), strict=True)
        ]
        return Path(int(self.ids[at]), *texts, *self.ports[:, at].tolist())

    def __iter__(self) -> Iterator[Path]:
        return (self[row] for row in range(len(self)))

    def column(self, field: str) -> I32:
        """(n,) codes of one field."""
        codes: I32 = self.codes[self._ROW[field]]
        return codes

    def table(self, field: str) -> StringTable:
        """The table of one field's codes."""
        return self.tables[table_name(field)]

    def mask(self, field: str, text: str) -> Bool:
        """(n,) paths whose field is that text."""
        return np.asarray(self.column(field) == self.table(field).code(text))


class Description(NamedTuple):
    """What a record batch says of the paths of some of its rows.

    columns  of window_chunks.PATH_STRINGS, dictionaries or strings; null counts as empty
    ports    of source and destination
    rows     (n,) rows of the batch
    """

    columns: Sequence[pa.Array]
    ports: Sequence[pa.Array]
    rows: I64


class PathTable:
    """path_id -> row 0, 1, ... in order of arrival, with descriptions."""

    def __init__(self) -> None:
        self.tables = new_tables()
        self._keys = KeyIndex()
        self._ids = GrowableArray(np.uint64)
        self._codes = GrowableArray(np.int32, len(PATH_STRINGS))
        self._ports = GrowableArray(np.int32, 2)
        self._used_texts = 0  # texts that paths had when that was last counted

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def paths(self) -> Paths:
        """All paths, in the order of rows; a view, valid until the next change."""
        return Paths(self._ids.values, self._codes.values, self._ports.values, self.tables)

    @property
    def texts(self) -> int:
        """Texts in all tables [count]."""
        return sum(map(len, self.tables.values()))

    def find(self, ids: U64) -> I64:
        """(n,) rows of some paths, -1 for those that are not in the table."""
        return self._keys.find(ids)

    def add(self, ids: U64, described: Iterable[Description]) -> None:
        """Append paths that are not in the table.

        ids        (n,) each once
        described  descriptions of the first paths, of the next ones, ...
        """
        start = len(self)
        self._keys.code(ids)
        self._ids.append(ids)
        codes, ports = (column.grow(len(self)) for column in (self._codes, self._ports))
        recoded = [_Recoded(self.tables[table_name(field)]) for field in PATH_STRINGS]
        at = 0
        for columns, port_columns, rows in described:
            part = slice(at, at + len(rows))
            for row, column in enumerate(columns):
                codes[row, part] = recoded[row].codes(column, rows)
            for row, column in enumerate(port_columns):
                ports[row, part] = column.to_numpy()[rows]
            at = part.stop
        assert start + at == len(self)  # noqa: S101 — every path is described once

    def retain(self, rows: Bool) -> None:
        """Drop all rows but those of a mask (len(self),); the rest close the gaps."""
        self._keys.retain(rows)
        for column in (self._ids, self._codes, self._ports):
            column.retain(rows)

    def compact(self, *, always: bool = False) -> bool:
        """Drop texts of no path where most are; returns whether, for codes change then.

        always  however few they are
        """
        if not always and not self._mostly_unused():
            return False
        used = {name: np.zeros(len(table), bool) for name, table in self.tables.items()}
        for row, field in enumerate(PATH_STRINGS):
            used[table_name(field)][self._codes.values[row]] = True
        self._used_texts = sum(int(each.sum()) for each in used.values())
        if not always and not self._mostly_unused():
            return False
        tables = new_tables()
        for name, mask in used.items():
            texts = self.tables[name].texts
            tables[name].codes(texts[code] for code in np.flatnonzero(mask).tolist())
        for row, field in enumerate(PATH_STRINGS):
            new_code = np.cumsum(used[table_name(field)]) - 1
            self._codes.values[row] = new_code[self._codes.values[row]]
        self.tables = tables
        return True

    def _mostly_unused(self) -> bool:
        return self.texts > 2 * self._used_texts + _SPARE_TEXTS


class _Recoded:
    """One field by the codes of its table. Chunks in turn mostly have the same dictionary: what was
    looked up of it is not looked up again."""

    def __init__(self, table: StringTable) -> None:
        self._table = table
        self._texts = pa.array([], pa.string())  # of the newest dictionary
        self._codes = np.empty(0, np.int32)  # by place in it, -1: not looked up yet

    def codes(self, column: Any, rows: I64) -> I32:
        """(n,) some rows of a column of texts; those that are new are added to the table."""
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        if column.null_count:
            column = column.cast(pa.string()).fill_null("").dictionary_encode()
        if not column.dictionary.equals(self._texts):
            self._texts = column.dictionary
            self._codes = np.full(len(self._texts), -1, np.int32)
        indices = column.indices.to_numpy()[rows]
        missing = np.zeros(len(self._codes), bool)
        missing[indices] = True
        missing &= self._codes < 0
        if missing.any():
            texts = self._texts.filter(pa.array(missing)).to_pylist()
            self._codes[missing] = self._table.codes(texts)
        return np.asarray(self._codes[indices])
