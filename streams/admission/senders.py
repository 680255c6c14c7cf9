"""Codes of senders, and of the source hosts that they report on. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from schemas.wire import window_chunks
from streams.windowing.path_table import PathTable

I32 = npt.NDArray[np.int32]

_FABRIC = 1 + window_chunks.PATH_STRINGS.index("fabric")  # column of PathTable.describe
_NODE_SN = 1 + window_chunks.PATH_STRINGS.index("src_node_sn")


class Senders:
    """Sender names as dense codes."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._code: dict[str, int] = {}

    def codes(self, names: Sequence[str]) -> I32:
        """(n,) code of each name; new names are added."""
        known = [*map(self._code.get, names)]
        if None not in known:
            return np.array(known, np.int32)
        out = []
        for name in names:
            code = self._code.setdefault(name, len(self.names))
            if code == len(self.names):
                self.names.append(name)
            out.append(code)
        return np.array(out, np.int32)

    def retain(self, used: I32) -> I32:
        """Drop all codes but ``used`` (sorted, unique); returns old -> new, -1: dropped."""
        moved = np.full(len(self.names), -1, np.int32)
        moved[used] = np.arange(len(used), dtype=np.int32)
        self.names = [self.names[code] for code in used.tolist()]
        self._code = {name: code for code, name in enumerate(self.names)}
        return moved


class Sources:
    """Source host of each path of a PathTable, as a code into ``names``."""

    def __init__(self) -> None:
        self.names: list[tuple[str, str]] = []  # (fabric, node_sn)
        self._code: dict[tuple[str, str], int] = {}
        self._of_path: I32 = np.empty(0, np.int32)

    def of(self, table: PathTable, path: I32) -> I32:
        """(rows,) source code of each path index."""
        known = len(self._of_path)
        if len(table) > known:
            new = table.describe(np.arange(known, len(table), dtype=np.int32))
            fabric, node = new[_FABRIC].to_pylist(), new[_NODE_SN].to_pylist()
            codes = [self._add(pair) for pair in zip(fabric, node, strict=True)]
            self._of_path = np.concatenate([self._of_path, np.array(codes, np.int32)])
        return self._of_path[path]

    def _add(self, pair: tuple[str, str]) -> int:
        code = self._code.setdefault(pair, len(self.names))
        if code == len(self.names):
            self.names.append(pair)
        return code

    def reindex(self, moved_paths: I32) -> I32:
        """Renumber paths, and drop sources without one; returns old source -> new, -1: dropped."""
        self._of_path = self._of_path[moved_paths[: len(self._of_path)] >= 0]
        used = np.unique(self._of_path)
        moved = np.full(len(self.names), -1, np.int32)
        moved[used] = np.arange(len(used), dtype=np.int32)
        self._of_path = moved[self._of_path]
        self.names = [self.names[code] for code in used.tolist()]
        self._code = {pair: code for code, pair in enumerate(self.names)}
        return moved
