"""Drift baseline: means of ln(round trip) of each path in the blocks of the last two hours.

Five-tuples are remembered, not endpoint pairs: agents change source ports, and with them routes,
whose levels differ by more than an hour of drift. What a pair keeps over a change of ports is its
growth, so a five-tuple that lives for an hour is enough.

Memory: a block is a float16 and a count of one byte; 12 blocks, the open one and the first value
are 45 B a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.parameters.parameter import parameter

F16 = npt.NDArray[np.float16]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
Bool = npt.NDArray[np.bool_]

_MOST_COUNTED: Final = np.iinfo(np.uint8).max


@dataclass(frozen=True, slots=True)
class DriftBaselineParameters:
    """What is remembered.

    block_s  length of a block; growth is judged at the end of each
    blocks   that are remembered, the newest included
    jump_s   after a hole in event time longer than this the past is dropped
    """

    block_s: int = parameter(
        600,
        unit="s",
        source="chosen: 12 of them in the two hours within which drift is found",
    )
    blocks: int = parameter(
        12, unit="blocks", source="chosen: two hours, in which 1 % an hour is to be found"
    )
    jump_s: int = parameter(1800, unit="s", source="SkeletonHunter, SIGCOMM 2025: its period")


DEFAULT: Final = DriftBaselineParameters()


class Block(NamedTuple):
    """One block, per path.

    end_s     end of the block [s]
    answered  (P,) windows, 0 where there is none; mean (P,) of ln(round trip / first round trip)
    """

    end_s: int
    answered: U8
    mean: F16


class _Open(NamedTuple):
    """The block that is not over yet: windows and sum of the logarithms (P,)."""

    end_s: int
    answered: U8
    total: F32


class DriftBaseline:
    """Running sums of the present block, and the means of those before.

    named  components that the judgement of the newest block found to drift
    """

    def __init__(self, parameters: DriftBaselineParameters = DEFAULT) -> None:
        self.parameters = parameters
        self._first: F32 = np.empty(0, np.float32)  # ln of the first value: keeps means small
        self._newest_s: int | None = None
        self._open: _Open | None = None
        self._blocks: list[Block] = []  # newest first
        self.named: set[str] = set()

    @property
    def nbytes(self) -> int:
        """Memory in use [B]."""
        parts: list[npt.NDArray[Any]] = [self._first]
        for block in self._blocks:
            parts += [block.answered, block.mean]
        if self._open is not None:
            parts += [self._open.answered, self._open.total]
        return sum(part.nbytes for part in parts)

    def first(self, paths: int) -> F32:
        """(P,) ln of the first round trip [us] of each of so many paths; NaN where unknown."""
        return padded(self._first, paths, np.nan)

    def learn(self, end_s: int, path: I64, value_us: F64) -> None:
        """Add the values of healthy paths at one time.

        end_s  end of the windows [s]; path (n,) rows, each once; value_us (n,) > 0
        """
        if self._newest_s is not None and abs(end_s - self._newest_s) > self.parameters.jump_s:
            self.clear()
        self._newest_s = end_s
        block_end = -(-end_s // self.parameters.block_s) * self.parameters.block_s
        paths = max(int(path.max(initial=-1)) + 1, len(self._first))
        if self._open is None or self._open.end_s != block_end:
            self._end_block()
            self._open = _Open(block_end, np.zeros(paths, np.uint8), np.zeros(paths, np.float32))
        self._first = padded(self._first, paths, np.nan)
        _, answered, total = self._open
        answered, total = padded(answered, paths), padded(total, paths)
        log = np.log(value_us)
        new = np.isnan(self._first[path])
        self._first[path[new]] = log[new]
        log -= self._first[path]
        counted = answered[path] < _MOST_COUNTED
        answered[path] += counted
        total[path] += (log * counted).astype(np.float32)
        self._open = _Open(block_end, answered, total)

    def close(self, end_s: int) -> list[Block]:
        """End the block that ends with ``end_s``: it and those before, newest first.

        Empty between the ends of blocks, and where nothing was learnt.
        """
        if self._open is None or end_s != self._open.end_s:
            return []
        self._end_block()
        return self._blocks

    def _end_block(self) -> None:
        if self._open is None:
            return
        end_s, answered, total = self._open
        self._open = None
        mean = (total / np.maximum(answered, 1)).astype(np.float16)
        since_s = end_s - self.parameters.blocks * self.parameters.block_s
        past = [block for block in self._blocks if since_s < block.end_s < end_s]
        self._blocks = [Block(end_s, answered, mean), *past]

    def retain(self, rows: Bool) -> None:
        """Drop all other paths (P,)."""
        self._first = padded(self._first, len(rows), np.nan)[rows]
        self._blocks = [
            Block(end_s, padded(answered, len(rows))[rows], padded(mean, len(rows))[rows])
            for end_s, answered, mean in self._blocks
        ]
        if self._open is not None:
            end_s, answered, total = self._open
            self._open = _Open(
                end_s, padded(answered, len(rows))[rows], padded(total, len(rows))[rows]
            )

    def clear(self) -> None:
        """Drop the blocks: event time jumped."""
        self._open, self._blocks, self.named = None, [], set()


def padded(values: npt.NDArray[Any], count: int, fill: float = 0.0) -> npt.NDArray[Any]:
    """(count,) values, those of paths that joined since filled up."""
    if len(values) >= count:
        return values
    return np.concatenate([values, np.full(count - len(values), fill, values.dtype)])
