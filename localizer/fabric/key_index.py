"""Key index (64-bit keys -> dense codes) and growable arrays, both by whole arrays. No I/O.

A row of a table is found by a key and described by columns: a ``KeyIndex`` numbers the keys, one
``GrowableArray`` holds each column. ``retain`` drops the same rows of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from schemas.compiled import native

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_LEAST_MERGED = 4096  # new keys that stay in the small run at least


class KeyIndex:
    """Key (64 bits) -> code 0, 1, ... in order of arrival; everything by arrays.

    A hash table of the compiled helper (``native/src/key_codes.c``), or without it ``SortedKeys``.

    Example: of keys 70, 30, 70 the codes are 0, 1, 0.
    """

    def __init__(self) -> None:
        helper = native.used()
        self._table: Any = None if helper is None else helper.KeyCodes()
        self._sorted = SortedKeys()

    def __len__(self) -> int:
        return len(self._sorted) if self._table is None else len(self._table)

    def find(self, keys: U64) -> I64:
        """(n,) codes, -1 where a key is unknown."""
        if self._table is None:
            return self._sorted.find(keys)
        codes = np.empty(len(keys), np.int64)
        self._table.find(np.ascontiguousarray(keys), codes)
        return codes

    def code(self, keys: U64) -> tuple[I64, I64]:
        """(n,) codes, unknown keys added; (new,) where in ``keys`` each new one is first."""
        if self._table is None:
            return self._sorted.code(keys)
        codes, first = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
        new = self._table.code(np.ascontiguousarray(keys), codes, first)
        return codes, first[:new]

    def retain(self, codes: Bool) -> None:
        """Drop all codes but those of a mask (len(self),); the rest close the gaps."""
        if self._table is None:
            self._sorted.retain(codes)
        else:
            self._table.retain(np.ascontiguousarray(codes))


class SortedKeys:
    """``KeyIndex`` in numpy.

    Two sorted runs, as in a log-structured merge tree: new keys are merged into the small run, and
    that into the large one when it exceeds a quarter of it, so that n keys cost O(n log n).
    """

    def __init__(self) -> None:
        self._large = _Run(np.empty(0, np.uint64), np.empty(0, np.int64))
        self._small = _Run(np.empty(0, np.uint64), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self._large.keys) + len(self._small.keys)

    def find(self, keys: U64) -> I64:
        """(n,) codes, -1 where a key is unknown."""
        if not len(self._large.keys):
            return self._small.find(keys)
        found = self._large.find(keys)
        if len(self._small.keys) and (found < 0).any():
            rest = np.flatnonzero(found < 0)
            found[rest] = self._small.find(keys[rest])
        return found

    def code(self, keys: U64) -> tuple[I64, I64]:
        """(n,) codes, unknown keys added; (new,) where in ``keys`` each new one is first."""
        codes = self.find(keys)
        unknown = np.flatnonzero(codes < 0)
        if not len(unknown):
            return codes, unknown
        new, first, back = np.unique(keys[unknown], return_index=True, return_inverse=True)
        order = np.argsort(first)  # codes follow the order of arrival
        number = np.empty(len(new), np.int64)
        number[order] = len(self) + np.arange(len(new))
        codes[unknown] = number[back]
        self._small = self._small.merged(_Run(new, number))
        if len(self._small.keys) > max(_LEAST_MERGED, len(self._large.keys) // 4):
            self._large = self._large.merged(self._small)
            self._small = _Run(np.empty(0, np.uint64), np.empty(0, np.int64))
        return codes, unknown[first[order]]

    def retain(self, codes: Bool) -> None:
        """Drop all codes but those of a mask (len(self),); the rest close the gaps."""
        self._large = self._large.merged(self._small)
        self._small = _Run(np.empty(0, np.uint64), np.empty(0, np.int64))
        rank = np.cumsum(codes) - 1
        mine = codes[self._large.codes]
        self._large = _Run(self._large.keys[mine], rank[self._large.codes[mine]])


class _Run:
    """Sorted keys and their codes."""

    def __init__(self, keys: U64, codes: I64) -> None:
        self.keys, self.codes = keys, codes

    def find(self, keys: U64) -> I64:
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.codes[at], -1)

    def merged(self, other: _Run) -> _Run:
        if not len(self.keys):
            return other
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")  # two sorted runs: merged in linear time
        return _Run(keys[order], np.concatenate([self.codes, other.codes])[order])


def pair_key(high: npt.NDArray[Any], low: npt.NDArray[Any]) -> U64:
    """(n,) two codes below 2^32 as one key: high << 32 | low; -1 counts as a code of its own."""
    key: U64 = high.astype(np.uint32).astype(np.uint64) << np.uint64(32)
    key |= low.astype(np.uint32).astype(np.uint64)
    return key


class GrowableArray:
    """An array that grows along its last axis, at amortised constant cost per element."""

    def __init__(self, dtype: npt.DTypeLike, rows: int | None = None, fill: int = 0) -> None:
        """rows: length of the first axis of a table; None for a vector."""
        self._shape = () if rows is None else (rows,)
        self._fill = fill
        self._room: npt.NDArray[Any] = np.full((*self._shape, 0), fill, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> npt.NDArray[Any]:
        """The elements so far; a view, valid until the next growth."""
        return self._room[..., : self._length]

    def grow(self, length: int) -> npt.NDArray[Any]:
        """Lengthen with the fill value to some length; returns the new part, to be written."""
        had = self._length
        if length > self._room.shape[-1]:
            room = np.empty((*self._shape, length + length // 4 + 64), self._room.dtype)
            room[..., :had] = self._room[..., :had]
            self._room = room
        self._length = max(length, had)
        part = self._room[..., had : self._length]
        part[...] = self._fill
        return part

    def append(self, new: npt.NDArray[Any]) -> None:
        """Add elements at the end of the last axis."""
        self.grow(self._length + new.shape[-1])[...] = new

    def retain(self, columns: Bool) -> None:
        """Drop all elements of the last axis but those of a mask."""
        self._room = np.ascontiguousarray(self.values[..., columns])
        self._length = self._room.shape[-1]
