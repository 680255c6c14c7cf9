"""The table of docs/reliability.md: a row per fault."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from evaluation.chaos.faults import FAULTS
from evaluation.chaos.run import Outcome

HEADER: Final = (
    "| fault | records in | stored | judged | late | duplicate | deleted unread | dead letters |"
    " incidents as undisturbed | named after | judging again after | holds |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)
_BEGIN: Final = "<!-- chaos: written by make chaos-test -->"
_END: Final = "<!-- end of chaos -->"


def row(outcome: Outcome, *, timed: bool) -> str:
    """One fault; without times where those would be the machine's, not the pipeline's."""
    cells = [
        outcome.fault.text, f"{outcome.published:,}", f"{outcome.stored:,}",
        f"{outcome.judged:,}", f"{outcome.late:,}", f"{outcome.duplicate:,}",
        f"{outcome.overtaken:,}", f"{outcome.letters:,}",
        f"{len(outcome.found & outcome.expected)} of {len(outcome.expected)}",
        _seconds(outcome.named_s, timed=timed), _seconds(outcome.again_s, timed=timed),
        "**no**" if outcome.problems else "yes",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def callers(outcome: Outcome) -> str:
    """What those who called the replicas of a site saw, in one line."""
    return (
        f"{outcome.answered:,} requests of the API answered, {len(outcome.failed)} failed; ping "
        f"lists read {outcome.lists_read:,} times, {outcome.lists_failed} readings failed, "
        f"{outcome.lists_lost} lists given up"
    )


def into(page: str, rows: Mapping[str, str]) -> str:
    """The page with these rows in the table between its marks; rows of other faults stay.

    rows  text of the fault -> row; raises ValueError when the page has no marks
    """
    before, begin, rest = page.partition(_BEGIN)
    table, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page lacks {_BEGIN} or {_END}")
    known = {line.split("|")[1].strip(): line for line in table.splitlines() if "|" in line}
    found = {**known, **rows}
    lines = [found[each.text] for each in FAULTS if each.text in found]
    return f"{before}{begin}\n\n{HEADER}\n" + "\n".join(lines) + f"\n\n{end}{after}"


def busy() -> bool:
    """Whether more processes want to run than there are cores, so that times say nothing."""
    return os.getloadavg()[1] > (os.cpu_count() or 1)


def _seconds(value: float | None, *, timed: bool) -> str:
    return "-" if value is None or not timed else f"{value:.1f} s"
