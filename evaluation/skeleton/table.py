"""Trials as a table in Markdown: one row per size, layout and condition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from evaluation.skeleton.trials import Trial

#: Goals: mean adjusted Rand index, share of runs without a missed pair, share declined.
RAND: Final = 0.99
COMPLETE: Final = 0.99
DECLINED: Final = 0.99

_HEAD: Final = (
    "| rnics | layout | condition | runs | adjusted Rand index | runs with >= 0.99 "
    "| declined | runs without a missed pair | targets an rnic (true) | CPU s |",
    "|---|---|---|---|---|---|---|---|---|---|",
)


def met(trials: Sequence[Trial]) -> bool:
    """Whether all three goals are, over all trials."""
    training = [each for each in trials if each.layout != "quiet"]
    quiet = [each for each in trials if each.layout == "quiet"]
    return not (
        (training and np.mean([each.rand for each in training]) < RAND)
        or (training and np.mean([each.missed == 0 for each in training]) < COMPLETE)
        or (quiet and np.mean([each.declined for each in quiet]) < DECLINED)
    )


def table(trials: Sequence[Trial]) -> str:
    """The table, with a row for all of it."""
    groups: defaultdict[tuple[int, str, str], list[Trial]] = defaultdict(list)
    quiet: defaultdict[str, list[Trial]] = defaultdict(list)
    for each in trials:
        if each.layout == "quiet":
            quiet[each.condition].append(each)
        else:
            groups[each.rnics, each.layout, each.condition].append(each)
    lines = list(_HEAD) if groups else []
    lines += [
        _row(f"{rnics:,}", layout, condition, rows)
        for (rnics, layout, condition), rows in groups.items()
    ]
    if groups:
        lines.append(_row("all", "all", "all", [row for rows in groups.values() for row in rows]))
    if quiet:
        lines += ["", "| without collectives | runs | declined |", "|---|---|---|"]
        quiet["all"] = [row for rows in quiet.values() for row in rows]
        lines += [
            f"| {kind} | {len(rows)} | {np.mean([row.declined for row in rows]):.1%} |"
            for kind, rows in quiet.items()
        ]
    return "\n".join(lines)


def _row(rnics: str, layout: str, condition: str, rows: list[Trial]) -> str:
    rand = np.array([row.rand for row in rows])
    complete = np.mean([row.missed == 0 for row in rows])
    targets, true = (np.mean([getattr(row, name) for row in rows])
                     for name in ("targets", "true_targets"))  # fmt: skip
    declined = np.mean([row.declined for row in rows])
    seconds = np.mean([row.seconds for row in rows])
    return (
        f"| {rnics} | {layout} | {condition} | {len(rows)} | {rand.mean():.4f} "
        f"| {(rand >= RAND).mean():.1%} | {declined:.1%} | {complete:.1%} "
        f"| {targets:.1f} ({true:.1f}) | {seconds:.2f} |"
    )
