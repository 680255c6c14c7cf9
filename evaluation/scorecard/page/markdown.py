"""Markdown of the page: tables, cells, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from evaluation.scorecard.intervals import Estimate

MOST_LISTED: Final = 40


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in [list(head), ["---"] * len(head), *rows])


def more(lines: Sequence[object]) -> str:
    """The line below a table that leaves rows out."""
    hidden = len(lines) - MOST_LISTED
    return f"\nand {hidden} more in results.jsonl\n" if hidden > 0 else ""


def picture(pictures: dict[str, str], name: str, text: str) -> str:
    """The image of a plot; empty where it was not drawn."""
    return f"![{text}]({pictures[name]})\n" if name in pictures else ""


def percent(estimate: Estimate | None) -> str:
    """A share with its interval; "not run" without trials."""
    if estimate is None:
        return "not run"
    value, low, high = (100 * each for each in estimate)
    return f"{value:.1f} % ({low:.1f}-{high:.1f})"


def plain(estimate: Estimate | None, digits: int) -> str:
    """A figure with its interval; "-" without one."""
    if estimate is None:
        return "-"
    value, low, high = (f"{each:.{digits}f}" for each in estimate)
    return f"{value} ({low}-{high})"


def share(estimate: Estimate | None) -> str:
    """A share with its interval; "-" without trials."""
    return "-" if estimate is None else percent(estimate)
