"""Many integer keys -> dense codes, and arrays that grow: what the indexes are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_LITTLE = 4096  # newcomers that are kept apart before they are merged


class KeyIndex:
    """Key (64 bits) -> code 0, 1, ... in order of arrival; everything by arrays.

    Two sorted runs, as in a log-structured merge tree: newcomers are sorted into a small one, which
    joins the large one when it has grown to a quarter of it, so that n keys cost O(n log n) in all.
    """

    def __init__(self) -> None:
        self._large = _Run(np.empty(0, np.uint64), np.empty(0, np.int64))
        self._small = _Run(np.empty(0, np.uint64), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self._large.keys) + len(self._small.keys)

    def find(self, keys: U64) -> I64:
        """(n,) codes, -1 where a key is unknown."""
        found = self._large.find(keys)
        if len(self._small.keys) and (found < 0).any():
            rest = np.flatnonzero(found < 0)
            found[rest] = self._small.find(keys[rest])
        return found

    def code(self, keys: U64) -> tuple[I64, I64]:
        """(n,) codes, unknown keys added; and where in ``keys`` each new one first stands."""
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
        if len(self._small.keys) > max(_LITTLE, len(self._large.keys) // 4):
            self._large = self._large.merged(self._small)
            self._small = _Run(np.empty(0, np.uint64), np.empty(0, np.int64))
        return codes, unknown[first[order]]

    def keep(self, codes: Bool) -> None:
        """Drop all other codes; the rest move up."""
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


def joined(high: npt.NDArray[Any], low: npt.NDArray[Any]) -> U64:
    """(n,) two codes below 2^32 as one key; -1 counts as a code of its own."""
    key: U64 = high.astype(np.uint32).astype(np.uint64) << np.uint64(32)
    key |= low.astype(np.uint32).astype(np.uint64)
    return key


class GrowableArray:
    """An array that grows along its last axis at amortised cost."""

    def __init__(self, dtype: npt.DTypeLike, rows: int | None = None, fill: int = 0) -> None:
        """rows: length of the first axis of a table; None for a plain vector."""
        self._shape = () if rows is None else (rows,)
        self._fill = fill
        self._room: npt.NDArray[Any] = np.full((*self._shape, 0), fill, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def now(self) -> npt.NDArray[Any]:
        """What there is; a view, valid until the next growth."""
        return self._room[..., : self._length]

    def grow(self, length: int) -> npt.NDArray[Any]:
        """Lengthen with the fill value; returns the new part, to be written."""
        had = self._length
        if length > self._room.shape[-1]:
            room = np.empty((*self._shape, length + length // 4 + 64), self._room.dtype)
            room[..., :had] = self._room[..., :had]
            self._room = room
        self._length = max(length, had)
        part = self._room[..., had : self._length]
        part[...] = self._fill
        return part

    def append(self, values: npt.NDArray[Any]) -> None:
        """Add at the end."""
        self.grow(self._length + values.shape[-1])[...] = values

    def keep(self, columns: Bool) -> None:
        """Drop all others."""
        self._room = np.ascontiguousarray(self.now[..., columns])
        self._length = self._room.shape[-1]
