"""Rejected rows: the first few of a message in full, the others counted in one summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemas.limits import LIMITS, Limits

_MOST_RULES = 8


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is not a ping record, or a summary of several.

    row     0-based position in the message or block; of a summary, of its first row
    column  the offending column, or None
    reason  one line: what is wrong, with which value
    raw     the row's bytes, as close to what was sent as the format allows; empty in a summary
    count   rejected rows that this stands for [count]
    size    size of the row before ``raw`` was cut [B]; None: it was not cut
    rule    the reason without the value; equal for rows rejected by the same rule
    """

    row: int
    column: str | None
    reason: str
    raw: bytes
    count: int = 1
    size: int | None = None
    rule: str = ""


def summary(row: int, rules: Iterable[tuple[str, int]]) -> Reject:
    """One reject for many rows.

    row    position of the first of them
    rules  (rule, rows that broke it)
    """
    rows: Counter[str] = Counter()
    for rule, count in rules:
        rows[rule] += count
    ranked = sorted(rows.items(), key=lambda each: (-each[1], each[0]))
    named = [f"{count} x {rule[:100]}" for rule, count in ranked[:_MOST_RULES]]
    if len(ranked) > _MOST_RULES:
        named.append(f"{sum(count for _, count in ranked[_MOST_RULES:])} x other reasons")
    total = rows.total()
    reason = f"and {total} more rows of this message from this one on: {'; '.join(named)}"
    return Reject(row, None, reason, b"", total)


def excerpt(reject: Reject, limits: Limits = LIMITS) -> Reject:
    """The reject with its bytes cut to what a dead letter holds."""
    if len(reject.raw) <= limits.excerpt_bytes:
        return reject
    size = len(reject.raw) if reject.size is None else reject.size
    return replace(reject, raw=bytes(reject.raw[: limits.excerpt_bytes]), size=size)


def capped(rejects: list[Reject], limits: Limits = LIMITS) -> list[Reject]:
    """The first rejects of a message in full, in order of rows, and a summary of the others."""
    rejects = sorted(rejects, key=lambda reject: reject.row)
    shown = [excerpt(reject, limits) for reject in rejects[: limits.letters]]
    if rest := rejects[limits.letters :]:
        shown.append(
            summary(rest[0].row, ((each.rule or each.reason, each.count) for each in rest))
        )
    return shown


def count_rows(rejects: Iterable[Reject]) -> int:
    """Number of rejected rows, those in summaries included."""
    return sum(reject.count for reject in rejects)
