"""Answers that are evidence of the sparse paths, which have no windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]


class SparseAnswers(NamedTuple):
    """Answers of sparse paths, one by one: M of them, those of a path beside each other.

    row   (M,) path of each answer; second (M,) of it
    slow  (M,) whether it is slow by itself
    """

    row: I64
    second: I64
    slow: Bool


@dataclass(frozen=True)
class SparseEvidence:
    """Evidence of sparse paths.

    window_s  (P,) seconds that the evidence of each path spans; 0: it has windows
    slow_us   (P,) answers of sparse paths above this are slow [us]; NaN where unknown
    listed    makes ``answers``; most windows end without anybody who asks for them
    """

    window_s: F64
    slow_us: F64
    listed: Callable[[], SparseAnswers]

    @cached_property
    def answers(self) -> SparseAnswers:
        """The answers that are evidence."""
        return self.listed()

    def bounds(self, rows: Bool | slice = slice(None)) -> SparseEvidence:
        """Without the answers, and all paths but those of a mask (P,)."""
        known = rows if isinstance(rows, slice) else rows[: len(self.window_s)]
        return SparseEvidence(self.window_s[known], self.slow_us[known], _no_answers)


def _no_answers() -> SparseAnswers:
    none = np.empty(0, np.int64)
    return SparseAnswers(none, none, np.empty(0, bool))
