"""The page's section on many bad links over time, through panes."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.scorecard import intervals, plan
from evaluation.scorecard.intervals import Estimate
from evaluation.scorecard.page.markdown import plain, table
from evaluation.scorecard.records import CurveRow
from evaluation.scorecard.summary import grouped
from evaluation.scorecard.trials.curve import PIPELINE


def curves(rows: Sequence[CurveRow]) -> str:
    """A row for each strategy on each curve, the best at the end first."""
    times = sorted({point.at_s for row in rows for point in row.points})
    lines = []
    for name, group in grouped(rows, lambda row: row.curve).items():
        by = grouped(group, lambda row: row.strategy)
        last = {strategy: mean_f1(own, times[-1]) for strategy, own in by.items()}
        for strategy in sorted(by, key=lambda each: -(last[each] or (0.0,))[0]):
            own = by[strategy]
            shown = f"**{strategy}**" if strategy in (PIPELINE, plan.DEFAULT) else strategy
            at = [plain(mean_f1(own, time_s), 3) for time_s in times]
            end = [point for row in own for point in row.points if point.at_s == times[-1]]
            each = (
                f"{sum(getattr(point, figure) for point in end) / len(end):.3f}" if end else "-"
                for figure in ("precision", "recall")
            )
            lines.append((name, shown, str(len(own)), *at, *each))
    head = ("curve", "strategy", "seeds", *(f"F1 at {time_s} s" for time_s in times),
            "precision", "recall")  # fmt: skip
    return f"""## Many bad links over time, through panes

The two fat-trees of the published settings as records: 26 of 256 links bad from the first second,
probed in bursts of 100 (one for each five-tuple in 30 s) or by single probes (one a second and
pair). *{PIPELINE}*: what incidents named until then, a component in a tie set of at most four
included. The others are the strategies by themselves, on the counts of all panes until then, over
the links of the localizer's own incidence, with routes as far as they were traced; *swept* as
above. The pipeline also has to decide whether a link, a switch or an rnic is to blame.

{table(head, lines)}"""


def mean_f1(rows: Sequence[CurveRow], at_s: int) -> Estimate | None:
    """Mean F1 at a time; None where no row has it."""
    return intervals.mean([p.f1 for row in rows for p in row.points if p.at_s == at_s])
