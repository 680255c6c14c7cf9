"""How often which kind of verdict was right: what ``localizer/explanation/confidence.py`` holds.

    python -m evaluation.scorecard.verdict_counts [docs/scorecard/results.jsonl]

prints TRIALS and FIRST_RIGHT of that module, from the default strategy's trials of the pipeline.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from localizer.options import Options
from schemas.component_ids import TIER_KIND

RESULTS: Final = Path(__file__).parents[2] / "docs" / "scorecard" / "results.jsonl"
#: Rules do not look at what else is broken: their verdicts count whenever they were given.
_BY_RULE: Final = frozenset({"agent"})

Kind = tuple[str, str]  # of component, switches together; symptom
Counts = tuple[int, int]  # right, all
Row = Mapping[str, Any]


def trials(rows: Iterable[Row]) -> dict[Kind, tuple[Counts, Counts]]:
    """Verdicts while nothing else was broken, and while something was. False ones count among the
    latter; where no right one was ever given then, those given alone stand for them."""
    alone: defaultdict[Kind, int] = defaultdict(int)
    among: defaultdict[Kind, int] = defaultdict(int)
    wrong: defaultdict[Kind, int] = defaultdict(int)
    for row in rows:
        for fault in row["faults"]:
            if fault["found"]:
                by_itself = not any(_overlap(fault, each) for each in row["faults"])
                (alone if by_itself else among)[_kind(fault["named"], fault["symptom"])] += 1
        for false in row["false"]:
            wrong[_kind(false["component"], false["symptom"])] += 1
    found = {}
    for kind in sorted(alone.keys() | among.keys()):
        first, second = alone[kind] or among[kind], among[kind] or alone[kind]
        if kind[0] in _BY_RULE:
            first = second = alone[kind] + among[kind]
        found[kind] = (first, first), (second, second + wrong[kind])
    return found


def first_right(rows: Iterable[Row]) -> dict[Kind, Counts]:
    """Right verdicts whose first member was the culprit itself, of those on components that no
    probe tells from others."""
    found: dict[Kind, Counts] = {}
    for row in rows:
        for fault in row["faults"]:
            if fault["found"] and fault["class_size"] > 1:
                kind = _kind(fault["named"], fault["symptom"])
                right, every = found.get(kind, (0, 0))
                found[kind] = right + (fault["named"] == fault["component"]), every + 1
    return dict(sorted(found.items()))


def pipeline_rows(file: Path) -> Iterator[Row]:
    """The default strategy's trials of the pipeline."""
    for line in file.read_bytes().splitlines():
        row = msgspec.json.decode(line)
        if row["type"] == "pipeline" and row["strategy"] == Options().strategy:
            yield row


def _kind(component: str, symptom: str) -> Kind:
    kind = component.partition(":")[0]
    return "switch" if kind in TIER_KIND.values() else kind, symptom


def _overlap(one: Row, other: Row) -> bool:
    ends = one["end_s"] or float("inf"), other["end_s"] or float("inf")
    return one is not other and other["start_s"] < ends[0] and one["start_s"] < ends[1]


def main(arguments: list[str]) -> int:
    """Print both tables."""
    rows = list(pipeline_rows(Path(arguments[0]) if arguments else RESULTS))
    for name, table in (("TRIALS", trials(rows)), ("FIRST_RIGHT", first_right(rows))):
        print(f"{name} = {{")
        for kind, counts in table.items():
            print(f'    ("{kind[0]}", "{kind[1]}"): {counts},')
        print("}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
