"""The table of docs/reliability.md: a row per fault. Pure, but for the machine's name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from evaluation.chaos.run import Outcome
from evaluation.machine import machine

HEADER: Final = (
    "| fault | records in | stored | judged | late | duplicate | deleted unread | dead letters |"
    " incidents as undisturbed | named after | judging again after | holds |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)
_BEGIN: Final = "<!-- chaos: written by make chaos-test -->"
_END: Final = "<!-- end of chaos -->"


def row(outcome: Outcome) -> str:
    """One fault."""
    cells = [
        outcome.fault.text, f"{outcome.published:,}", f"{outcome.stored:,}",
        f"{outcome.judged:,}", f"{outcome.late:,}", f"{outcome.duplicate:,}",
        f"{outcome.overtaken:,}", f"{outcome.letters:,}",
        f"{len(outcome.found & outcome.expected)} of {len(outcome.expected)}",
        _seconds(outcome.named_s), _seconds(outcome.again_s),
        "**no**" if outcome.problems else "yes",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def into(page: str, outcomes: Sequence[Outcome]) -> str:
    """The page with this table between its marks; raises ValueError when it has none."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page lacks {_BEGIN} or {_END}")
    load = os.getloadavg()[1]
    where = f"Measured on {machine()}; load of 5 minutes at the end: {load:.1f}."
    rows = "\n".join(row(each) for each in outcomes)
    return f"{before}{begin}\n{where}\n\n{HEADER}\n{rows}\n{end}{after}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
