"""Which rows of a batch are bad and why; texts are made only for the rows that are shown."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

I32 = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


class RowErrors:
    """Bad rows of a batch; the first reason of a row counts.

    A reason is a column, a rule that may quote ``{value}``, and the column's values.

    bad  (rows,) whether each row is bad
    """

    def __init__(self, rows: int) -> None:
        self.bad: Mask = np.zeros(rows, bool)
        self._code: I32 = np.zeros(rows, np.int32)  # of a bad row: index into _reasons
        self._reasons: list[tuple[str, str, pa.Array | None]] = []
        self._known: dict[tuple[str, str], int] = {}

    def add(self, row: int, column: str, reason: str) -> None:
        """Mark one row; braces in ``reason`` are text."""
        if self.bad[row]:
            return
        code = self._known.get((column, reason))
        if code is None:
            code = self._known[column, reason] = len(self._reasons)
            self._reasons.append((column, reason, None))
        self.bad[row], self._code[row] = True, code

    def add_where(self, mask: pa.Array | Mask, column: str, rule: str, values: pa.Array) -> None:
        """Mark the rows where mask is true; ``rule`` may quote ``{value}``."""
        if not isinstance(mask, np.ndarray):
            mask = mask.to_numpy(zero_copy_only=False)
        new = mask & ~self.bad
        if new.any():
            self._code[new] = len(self._reasons)
            self._reasons.append((column, rule, values))
            self.bad |= new

    def any(self) -> bool:
        """Whether any row is bad."""
        return bool(self.bad.any())

    def reason(self, row: int) -> tuple[str, str, str]:
        """Column, reason and rule of a bad row."""
        column, rule, values = self._reasons[self._code[row]]
        text = rule if values is None else rule.format(value=show(values, row))
        return column, f"{column}: {text}", self._rule(self._code[row])

    def rules(self, rows: npt.NDArray[np.int64]) -> list[tuple[str, int]]:
        """(rule, rows that broke it) over some bad rows."""
        codes, counts = np.unique(self._code[rows], return_counts=True)
        return [
            (self._rule(code), count)
            for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
        ]

    def _rule(self, code: int) -> str:
        column, rule, values = self._reasons[code]
        return f"{column}: {rule if values is None else rule.format(value='a value')}"


def show(values: pa.Array, row: int) -> str:
    """A value as a reason quotes it: at most 60 characters, in one line."""
    try:
        value = values[row].as_py()
    except Exception:  # Arrow holds values that Python cannot: years, zones, bytes
        return "a value that cannot be shown"
    return shortened(value)


def shortened(value: object) -> str:
    """``repr`` of a value, cut to 60 characters."""
    text = repr(value[:60] if isinstance(value, str | bytes) else value)
    return text if len(text) <= 60 else text[:57] + "..."
