"""The page's section on the published settings."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.scorecard import plan, tuned_baselines
from evaluation.scorecard.page import published_results
from evaluation.scorecard.page.markdown import picture, plain, table
from evaluation.scorecard.records import PathRow
from evaluation.scorecard.summary import ahead, grouped, path_figures
from testbed.scenarios import published

_HEAD = (
    "strategy", "mean F1", "worst", "precision", "recall", f"{plan.DEFAULT} ahead by",
    "CPU s a call", "seeds", "published mean F1",
)  # fmt: skip


def settings(rows: Sequence[PathRow], pictures: dict[str, str]) -> str:
    """A table for each setting: every strategy, and the published figures."""
    out = [
        "## Published settings\n",
        "Every strategy gets the same evidence in the same run, without being told how lossy the",
        "healthy network is. *Swept*: with those parameters that did best on seeds",
        f"{tuned_baselines.TUNED_ON[0]}-{tuned_baselines.TUNED_ON[-1]} of that setting, which "
        "no operator has.",
        "F1 of the bad links; *ahead by*: the mean difference of F1 on the",
        f"same draw. {published_results.SETTINGS_SOURCE}\n",
        picture(pictures, "settings", "F1 of every strategy on every seed"),
    ]
    for setting, group in grouped(rows, lambda row: row.setting).items():
        first = group[0]
        out.append(f"### {setting}\n")
        if setting in published.SETTINGS:
            out.append(f"{published.SETTINGS[setting].source}.")
        out.append(f"{first.paths:,} paths, {first.components:,} candidates.\n")
        out.append(table(_HEAD, _lines(setting, group)))
    return "\n".join(out)


def _lines(setting: str, rows: Sequence[PathRow]) -> list[tuple[str, ...]]:
    """Best mean first; methods that we only know from papers last."""
    beside = published_results.SETTINGS.get(setting, {})
    by = grouped(rows, lambda row: row.strategy)
    found = {name: path_figures(own) for name, own in by.items()}
    lines = []
    for name, figures in sorted(found.items(), key=lambda item: -item[1].f1.value):
        mine = name == plan.DEFAULT
        failed = f" ({figures.failed} failed)" if figures.failed else ""
        before = None if mine else ahead(by.get(plan.DEFAULT, []), by[name])
        lines.append(
            (f"**{name}**" if mine else name, plain(figures.f1, 3), f"{figures.worst:.3f}",
             f"{figures.precision:.3f}", f"{figures.recall:.3f}", plain(before, 3),
             f"{figures.seconds:.3f}", f"{figures.trials}{failed}", beside.get(name, "-"))
        )  # fmt: skip
    others = [(who, *["-"] * 7, figure) for who, figure in beside.items() if who not in found]
    return [*lines, *others]
