"""What a measurement says: a sentence with named numbers, so that several runs can be summed up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any


def figure(template: str, **values: float | str) -> dict[str, Any]:
    """Part of a measurement's result.

    template  as of ``str.format``, with a name and a format for each number

    Example: ``figure("{rate:,.0f} records/s", rate=1234.5)["figure"] == "1,234 records/s"``
    """
    return {"figure": template.format(**values), "template": template, "values": values}


class Spread:
    """A number over several runs; formatted, it is the median and, where they differ, the range.

    Example: ``f"{Spread([3.0, 1.0, 2.0]):.0f}" == "2 (1 to 3)"``
    """

    def __init__(self, values: Sequence[float]) -> None:
        self._values = values

    def __format__(self, spec: str) -> str:
        least, middle, most = (
            format(of(self._values), spec) for of in (min, median, max)
        )  # fmt: skip
        return middle if least == most else f"{middle} ({least} to {most})"


def summed_up(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The result of several runs of one measurement: medians and ranges of its numbers.

    It misses its goal where most runs do, and its memory is that of the largest. A text among the
    values is that of each run: ``a / b`` where they differ.
    """
    first = runs[0]
    every = {name: [run["values"][name] for run in runs] for name in first["values"]}
    values = {
        name: " / ".join(dict.fromkeys(each)) if isinstance(each[0], str) else Spread(each)
        for name, each in every.items()
    }
    missed = sum(bool(run.get("missed")) for run in runs)
    return {
        **first,
        "figure": first["template"].format(**values),
        "missed": 2 * missed > len(runs),
        "rss_mb": max(run["rss_mb"] for run in runs),
    }
