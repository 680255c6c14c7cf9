"""The measured goals, each with the figure reached; "not run" where the trials are not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from evaluation.scorecard import intervals, tuned_baselines
from evaluation.scorecard.intervals import Estimate
from evaluation.scorecard.page import published_results
from evaluation.scorecard.page.cadence import MOST_ROUNDS, mean_rounds
from evaluation.scorecard.page.curves import mean_f1
from evaluation.scorecard.page.markdown import percent, plain
from evaluation.scorecard.plan import DEFAULT
from evaluation.scorecard.records import CurveRow, FaultRow, PathRow, PipelineRow, Row
from evaluation.scorecard.summary import (
    WEEK_S,
    PathFigures,
    false_per_week,
    fault_figures,
    grouped,
    path_figures,
    pipeline_figures,
    urgency,
)
from evaluation.scorecard.trials.curve import CURVES, PIPELINE, TIMES_S
from evaluation.scorecard.trials.healthy import HEALTHY

#: Settings with a goal for the mean and for the worst seed.
SPARSE, NOISY = "fat_tree_sparse", "fat_tree_noisy"
#: Mean F1 of the whole pipeline on their networks, as panes.
LEAST_F1: Final = {SPARSE: 0.95, NOISY: 0.97}
#: Scenarios that are like the published system's setting: rail Clos, all types, routes known.
PUBLISHED_LIKE: Final = ("rail", "issue_types")
SIMULTANEOUS: Final = "three_at_once"
#: Scenarios of single faults in clusters that probe gently, and of losses too small for a window.
GENTLE: Final = ("cadence", "burst")
GRAY: Final = "gray"
ONE_WAY: Final = "one-way-gentle"
#: A gray loss is named within this time [s].
GRAY_S: Final = 900.0
UNKNOWN_ROUTES: Final = "routes_unknown"
#: Weeks of clean input that are needed to conclude that the alarm budget holds.
CLEAN_WEEKS: Final = 2


class Goal(NamedTuple):
    """A goal and the figure that was reached.

    on         the setting or scenarios; published: the figure that others have published for it
    met        None where it was not run
    """

    on: str
    goal: str
    published: str
    reached: str
    met: bool | None


def goals(rows: Sequence[Row]) -> list[Goal]:
    """All goals, in the order of the page's table."""
    paths = [row for row in rows if isinstance(row, PathRow)]
    over_time = [row for row in rows if isinstance(row, CurveRow) and row.strategy == PIPELINE]
    mine = [row for row in rows if isinstance(row, PipelineRow) and row.strategy == DEFAULT]
    faulty = [row for row in mine if not row.clean]
    clean = [row for row in mine if row.clean and row.error is None]
    return [
        *_paths(paths), *_curves(over_time), *_systems(faulty), *_special(faulty),
        *_gentle(faulty), *_gray(faulty), *_clean(clean),
    ]  # fmt: skip


def _paths(rows: Sequence[PathRow]) -> Iterator[Goal]:
    """Goals against the shipped baselines, then against the best of the tuned ones."""
    yield from _settings([row for row in rows if not tuned_baselines.is_tuned(row.strategy)])
    beside = []
    for setting, group in grouped(rows, lambda row: row.setting).items():
        found = {
            name: path_figures(own) for name, own in grouped(group, lambda r: r.strategy).items()
        }
        if DEFAULT in found and any(map(tuned_baselines.is_tuned, found)):
            mine = found.pop(DEFAULT).f1.value
            best = _best(found)
            if best is not None:
                beside.append((setting, mine - best[1].f1.value, best[0]))
    if beside:
        reached = "; ".join(f"{setting} {by:+.3f} ({who})" for setting, by, who in beside)
        yield Goal("all settings, baselines swept on tuning seeds", "not below the best", "-",
                   reached, all(by >= 0 for _, by, _ in beside))  # fmt: skip


def _settings(rows: Sequence[PathRow]) -> Iterator[Goal]:
    above = []
    for setting, group in grouped(rows, lambda row: row.setting).items():
        found = {
            name: path_figures(own) for name, own in grouped(group, lambda r: r.strategy).items()
        }
        if DEFAULT not in found:
            continue
        mine, best = found.pop(DEFAULT), _best(found)
        beside = best[1].f1.value if best else 0.0
        bar = "; ".join(
            f"{who} {figure}" for who, figure in published_results.SETTINGS.get(setting, {}).items()
        )
        reached = f"mean {mine.f1.value:.3f}, worst {mine.worst:.3f}" + (
            f"; best other {best[0]} {beside:.3f}" if best else ""
        )
        least, worst = {SPARSE: (0.98, 0.93), NOISY: (0.98, 0.0)}.get(setting, (0.0, 0.0))
        met = mine.f1.value >= max(least, beside) and mine.worst >= worst
        goal = f"mean F1 ≥ {least:g}, " if least else ""
        goal += f"no seed < {worst:g}, " if worst else ""
        yield Goal(setting, goal + ("best in the run" if least else "not below the best other"),
                   bar or "-", reached, met)  # fmt: skip
        if not least:
            above.append(mine.f1.value > beside)
    if above:
        reached = f"above on {sum(above)} of {len(above)}"
        yield Goal("the settings without a figure of their own", "above the best other on most",
                   "-", reached, 2 * sum(above) > len(above))  # fmt: skip


def _best(found: dict[str, PathFigures]) -> tuple[str, PathFigures] | None:
    return max(found.items(), key=lambda item: item[1].f1.value, default=None)


def _curves(rows: Sequence[CurveRow]) -> Iterator[Goal]:
    at_s = TIMES_S[-1]
    for name, group in grouped(rows, lambda row: row.curve).items():
        least = LEAST_F1[CURVES[name].setting]
        found = mean_f1(group, at_s)
        yield Goal(f"{name}, {PIPELINE}", f"mean F1 ≥ {least:g} at {at_s} s", "-",
                   plain(found, 3), None if found is None else found.value >= least)  # fmt: skip


def _systems(rows: Sequence[PipelineRow]) -> Iterator[Goal]:
    alike = [row for row in rows if row.scenario.startswith(PUBLISHED_LIKE)]
    where = ", ".join(sorted({row.scenario for row in alike})) or "rail Clos"
    if not alike:
        yield Goal(where, "precision, recall, naming, time to detect", "-", "not run", None)
        return
    figures = pipeline_figures(alike)
    faults = figures.faults
    for what, least, bar, reached in (
        ("precision", 0.99, "98.2 %", figures.precision),
        ("recall", 0.995, "99.3 %", faults.recall),
        ("class named, of those noticed", 0.99, "95.7 %", faults.naming),
        ("top-1 where the class has one member", 0.975, "-", faults.single),
    ):
        yield Goal(where, f"{what} ≥ {100 * least:g} %", bar, percent(reached),
                   None if reached is None else reached.value >= least)  # fmt: skip
    by = grouped([f for row in alike for f in row.faults], urgency)
    for name, most in (("unconnectivity", 5.0), ("loss ≥ 5 %", 8.0), ("latency", 35.0)):
        mean_s = fault_figures(by.get(name, [])).mean_s
        yield Goal(where, f"time to detect, {name}: mean ≤ {most:g} s", "8 s over all",
                   "not run" if mean_s is None else f"{mean_s.value:.1f} s",
                   None if mean_s is None else mean_s.value <= most)  # fmt: skip


def _special(rows: Sequence[PipelineRow]) -> Iterator[Goal]:
    three = [row for row in rows if row.scenario == SIMULTANEOUS]
    all_named = pipeline_figures(three).all_named if three else None
    yield Goal("3 simultaneous faults", "all named in ≥ 95 %", "-", percent(all_named),
               None if all_named is None else all_named.value >= 0.95)  # fmt: skip
    unknown = [row for row in rows if row.scenario.startswith(UNKNOWN_ROUTES)]
    known = [row for row in rows if row.scenario.startswith(PUBLISHED_LIKE)]
    lost = _points_lost(known, unknown)
    yield Goal("routes unknown for half of the paths", "naming loses ≤ 3 points", "-",
               "not run" if lost is None else f"{lost:+.1f} points",
               None if lost is None else lost <= 3)  # fmt: skip


def _gentle(rows: Sequence[PipelineRow]) -> Iterator[Goal]:
    """A goal for each scenario and figure, as the worst cadence is not to hide in a mean."""
    own = [row for row in rows if row.scenario.startswith(GENTLE)]
    if not own:
        yield Goal("clusters that probe gently", "precision, recall, naming, rounds", "-",
                   "not run", None)  # fmt: skip
    for name, group in grouped(own, lambda row: row.scenario).items():
        figures = pipeline_figures(group)
        shares = (figures.precision, figures.faults.recall, figures.faults.naming)
        known = [each for each in shares if each is not None]
        yield Goal(name, "precision, recall, class named ≥ 99 %", "-",
                   ", ".join(map(percent, shares)),
                   all(each.value >= 0.99 for each in known) if known else None)  # fmt: skip
        means = {each: mean_rounds(group, each) for each in MOST_ROUNDS}
        there = {each: mean for each, mean in means.items() if mean is not None}
        yield Goal(name, "mean rounds to detect: "
                   + ", ".join(f"{each} ≤ {most:g}" for each, most in MOST_ROUNDS.items()), "-",
                   ", ".join(f"{each} {mean.value:.1f}" for each, mean in there.items()) or "none",
                   all(mean.value <= MOST_ROUNDS[each] for each, mean in there.items())
                   if there else None)  # fmt: skip


def _gray(rows: Sequence[PipelineRow]) -> Iterator[Goal]:
    for name, what in ((GRAY, "gray losses of 0.1-0.4 %"), (ONE_WAY, "5 % one way, 24 hosts")):
        own = [row for row in rows if row.scenario == name]
        goal = "≥ 95 % named within 15 min, 0 false" if name == GRAY else "≥ 95 % named, 0 false"
        if not own:
            yield Goal(what, goal, "-", "not run", None)
            continue
        shown = [fault for row in own for fault in row.faults]
        soon = sum(f.found and f.seconds is not None and f.seconds <= GRAY_S for f in shown)
        false, recall = sum(len(row.false) for row in own), intervals.share(soon, len(shown))
        met = None if recall is None else recall.value >= 0.95 and false == 0
        yield Goal(what, goal, "-", f"{percent(recall)}, {false} false", met)


def _points_lost(known: Sequence[PipelineRow], unknown: Sequence[PipelineRow]) -> float | None:
    """How many percentage points fewer faults of the same labels are named."""
    labels = {fault.label for row in unknown for fault in row.faults}

    def named(rows: Sequence[PipelineRow]) -> Estimate | None:
        faults: list[FaultRow] = [f for row in rows for f in row.faults if f.label in labels]
        return fault_figures(faults).recall

    before, after = named(known), named(unknown)
    return None if before is None or after is None else 100 * (before.value - after.value)


def _clean(rows: Sequence[PipelineRow]) -> Iterator[Goal]:
    """A goal for all that was simulated with pings, and for each cadence without."""
    yield _false_alarms(
        "clean input with congestion bursts", [r for r in rows if r.scenario not in HEALTHY],
        CLEAN_WEEKS,
    )  # fmt: skip
    for name, each in HEALTHY.items():
        own = [row for row in rows if row.scenario == name]
        if own:
            yield _false_alarms(f"{name}, without pings", own, each.weeks)


def _false_alarms(where: str, rows: Sequence[PipelineRow], enough_weeks: float) -> Goal:
    weekly, weeks = false_per_week(rows), sum(row.simulated_s for row in rows) / WEEK_S
    reached, met = "not run", None
    if weekly is not None:
        reached = (
            f"{weekly.value:.3g} a week over {weeks:.2g} weeks, "
            f"95 % interval {weekly.low:.3g}-{weekly.high:.3g}"
        )
        if weekly.value > 1:
            met = False
        elif weeks >= enough_weeks:
            met = True
        else:
            reached += "; too little input to tell"
    goal = f"≤ 1 false incident a week, over ≥ {enough_weeks:g} weeks"
    return Goal(where, goal, "-", reached, met)
