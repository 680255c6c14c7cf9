"""The scorecard: nothing left out, nothing made up, nothing run twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace

from evaluation.scorecard import intervals, plan, records, runner, summary, tuned_baselines
from evaluation.scorecard.page import render
from evaluation.scorecard.page.goals import goals
from evaluation.scorecard.records import FalseRow, FaultRow, PathRow, PipelineRow, Row, Run
from evaluation.scorecard.trials import calibration, paths, pipeline
from localizer import strategies
from localizer.evidence import Attribution, Evidence
from schemas.component_ids import kind_of
from skeletonhunter import cli
from testbed.scenarios import published, scenario

RUN = Run(
    commit="abc123", sources="d1g35t", machine="a machine", started="2026-01-02T03:04:05Z",
    command="skeletonhunter check scorecard", quick=False, final=True, jobs=2,
    seeds={"path": (5000, 5001), "pipeline": (6000, 6000)},
    parameters={"localizer.verdicts.loss": {"SURPRISE": "0.01"}}, wall_s=60.0,
)  # fmt: skip


def path_row(strategy: str, seed: int, f1: float, setting: str = "detector") -> PathRow:
    return PathRow(
        setting=setting, seed=seed, strategy=strategy, paths=2048, components=384, bad=4, blamed=4,
        precision=f1, recall=f1, f1=f1, seconds=0.5,
    )  # fmt: skip


def fault(
    label: str, seconds: float | None, named: str | None = "tor:a", **more: object
) -> FaultRow:
    found = seconds is not None
    known: dict[str, object] = {
        "label": label, "effect": "loss", "component": "tor:a", "issue_type": label,
        "symptom": "loss", "layer": "underlay", "direction": "both", "magnitude": 0.1,
        "start_s": 60.0, "end_s": 90.0, "class_size": 1, "found": found, "top1": found,
        "noticed": named is not None, "seconds": seconds, "named": named, "said_type": label,
    }  # fmt: skip
    return FaultRow(**(known | more))  # type: ignore[arg-type]  # values fit by name


def pipeline_row(
    faults: list[FaultRow], false: list[FalseRow] | None = None, **more: object
) -> PipelineRow:
    known: dict[str, object] = {
        "scenario": "rail-512", "seed": 6000, "strategy": plan.DEFAULT, "clean": not faults,
        "simulated_s": 300,
        "records": 1000, "paths": 100, "seconds": 9.0, "judging_ms": (20.0, 80.0),
        "faults": faults, "false": false or [],
    }  # fmt: skip
    return PipelineRow(**(known | more))  # type: ignore[arg-type]  # values fit by name


ROWS: list[Row] = [
    *(path_row(plan.DEFAULT, seed, 1.0) for seed in (5000, 5001)),
    *(path_row("vote007", seed, f1) for seed, f1 in ((5000, 0.5), (5001, 0.7))),
    pipeline_row(
        [
            fault("crc_error", 4.0),
            fault("rnic_port_down", None, "tor:b", symptom="unconnectivity"),
            fault("gpu_direct_rdma_error", None, None, effect="none", symptom="high_latency"),
        ],
        [
            FalseRow(component="tor:b", symptom="loss", at_s=66.0, misnamed=True),
            FalseRow(component="spine:x", symptom="loss", at_s=200.0),
        ],
    ),
    pipeline_row(
        [], [], scenario="clean", seed=7000, simulated_s=604_800, p_values={"loss 5 s": [90, 9, 1]}
    ),
]


# The plan


def test_every_strategy_meets_every_setting_on_twenty_final_seeds() -> None:
    for setting in published.SETTINGS:
        units = [u for u in plan.units(plan.PlanRequest()) if (u.part, u.name) == ("path", setting)]
        assert [unit.seed for unit in units] == list(range(5000, 5020))
        names = (*strategies.names(), *tuned_baselines.names())
        assert all(unit.strategies == names for unit in units)


def test_every_shipped_scenario_is_run_by_the_default_strategy() -> None:
    run = {u.name for u in plan.units(plan.PlanRequest()) if plan.DEFAULT in u.strategies}
    assert run >= set(scenario.names())


def test_final_seeds_are_not_those_that_are_tuned_on() -> None:
    tuned_on = range(1, 1100)
    assert not [unit for unit in plan.units(plan.PlanRequest()) if unit.seed in tuned_on]
    assert all(unit.seed in tuned_on for unit in plan.units(plan.PlanRequest(quick=True)))
    developed = plan.units(plan.PlanRequest(seeds_from=1000, only=("detector",)))
    assert {unit.seed for unit in developed} == set(range(1000, 1020))


@pytest.mark.parametrize(("quick", "minutes"), [(False, 60), (True, 5)])
def test_the_plan_fits_its_time_on_two_cores(quick: bool, minutes: int) -> None:
    cost_s = sum(unit.cost_s for unit in plan.units(plan.PlanRequest(quick=quick)))
    assert cost_s / 2 / 60 < minutes * 0.95


def test_scenarios_that_get_fewer_seeds_are_there() -> None:
    assert plan.FEWER.keys() <= set(scenario.names())
    assert len(plan.seeds_of("pipeline", plan.PlanRequest(), "issue_types")) == plan.SEEDS
    assert (
        len(plan.seeds_of("pipeline", plan.PlanRequest(), "rail-2048")) == plan.FEWER["rail-2048"]
    )


def test_every_scenario_has_its_first_seed_before_any_has_its_second() -> None:
    units = plan.rounds(plan.units(plan.PlanRequest(strategies=(plan.DEFAULT,))))
    path = [unit.part == "path" for unit in units]
    assert path == sorted(path, reverse=True), "the cheap settings come first"
    units = units[sum(path) :]
    first = [unit.name for unit in units[: len({unit.name for unit in units})]]
    assert len(set(first)) == len(first)


def test_a_name_that_is_not_there_is_said_with_those_that_are() -> None:
    with pytest.raises(plan.UnknownName, match=r"--only fly: choose of .*demo"):
        plan.units(plan.PlanRequest(only=("fly",)))
    with pytest.raises(plan.UnknownName, match=r"--strategies luck: choose of .*vote007"):
        plan.units(plan.PlanRequest(strategies=("luck",)))


def test_only_the_whole_plan_may_be_written_over_the_committed_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["check", "scorecard", "--quick"])
    assert left.value.code == 2
    assert "--out: name a page" in capsys.readouterr().err


# Trials


def test_swept_parameters_are_chosen_on_tuning_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    real = published.trial

    def trial(setting: str, seed: int) -> published.Trial:
        drawn.append(seed)
        return real(setting, seed)

    monkeypatch.setattr(published, "trial", trial)
    tuned_baselines.chosen.cache_clear()
    best = tuned_baselines.chosen("detector")
    assert sorted(drawn) == list(tuned_baselines.TUNED_ON)
    assert best.keys() == {name.removesuffix(", swept") for name in tuned_baselines.names()}
    assert plan.DEFAULT not in best


def test_a_swept_strategy_is_no_worse_than_the_shipped_one_where_it_was_swept() -> None:
    names = ["netbouncer", "netbouncer, swept"]
    rows = [row for seed in tuned_baselines.TUNED_ON for row in paths.run("detector", seed, names)]
    shipped, tuned = (sum(row.f1 for row in rows[way::2]) for way in (0, 1))
    assert tuned > shipped


def test_strategies_are_given_the_same_draw_and_a_failing_one_scores_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Evidence] = []

    def fails(evidence: Evidence) -> list[Attribution]:
        seen.append(evidence)
        raise ArithmeticError("no such luck")

    real = strategies.get("vote007")
    monkeypatch.setattr(strategies, "get", lambda name: real if name == "vote007" else fails)
    good, bad = paths.run("detector", 1000, ["vote007", "fails"])
    assert good.f1 > 0
    assert good.bad == bad.bad > 0
    assert (bad.f1, bad.error) == (0.0, "ArithmeticError: no such luck")


def test_a_small_cluster_goes_through_the_whole_pipeline() -> None:
    row = pipeline.run("small", 1000, plan.DEFAULT)
    (link,) = row.faults
    assert kind_of(link.component) == "link"
    assert link.found
    assert link.seconds is not None
    assert 0 < link.seconds < 30
    assert row.records > 20_000
    assert row.error is None


def test_clean_input_is_simulated_for_as_long_as_asked() -> None:
    row = pipeline.run("clean", 1000, plan.DEFAULT, 12)
    assert (row.clean, row.simulated_s, row.faults) == (True, 12, [])
    assert sum(row.p_values["loss 5 s"]) > 100


def test_an_rnic_looks_like_its_link_and_a_spine_like_nothing_else() -> None:
    simulation = scenario.load("small").simulation(seed=1000, start_ns=0)
    names = simulation.network.components
    one = {
        kind: next(n for n in names if kind_of(n) == kind) for kind in ("rnic", "spine", "agent")
    }
    sizes = pipeline.class_sizes(simulation, list(one.values()))
    assert sizes == [2, 1, 1]


@pytest.mark.slow
def test_two_processes_come_to_the_same_rows_as_one(tmp_path: Path) -> None:
    units = plan.units(plan.PlanRequest(only=("detector", "small"), seeds=1, seeds_from=1000,
                                 strategies=("vote007", plan.DEFAULT)))  # fmt: skip
    assert len(units) == 3
    progress: list[str] = []
    both = [
        runner.run(units, RUN, tmp_path / f"{jobs}.jsonl", jobs=jobs, report=progress.append)
        for jobs in (1, 2)
    ]
    assert _timeless(both[0]) == _timeless(both[1])
    assert len(progress) == 6
    assert progress[-1].startswith("[3/3] ")


def _timeless(rows: Iterable[Row]) -> list[Row]:
    return [
        replace(row, seconds=0.0)
        if isinstance(row, PathRow)
        else replace(row, seconds=0.0, judging_ms=(0.0, 0.0))
        for row in rows
    ]


def test_a_stopped_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = plan.units(plan.PlanRequest(only=("detector",), seeds=2, strategies=("vote007",)))
    journal, ran = tmp_path / "journal.jsonl", []

    def work(unit: plan.Unit) -> list[Row]:
        ran.append(unit.seed)
        return [path_row("vote007", unit.seed, 1.0)]

    monkeypatch.setattr(runner, "work", work)
    runner.run(units[:1], RUN, journal, jobs=1, report=str)
    journal.write_bytes(journal.read_bytes() + b'{"type":"path","sett')  # it was killed here
    rows = runner.run(units, RUN, journal, jobs=1, report=str)
    assert ran == [5000, 5001]
    assert [row.seed for row in rows] == [5000, 5001]
    runner.run(units, replace(RUN, sources="other code"), journal, jobs=1, report=str)
    assert ran == [5000, 5001, 5000, 5001], "other code has other results"


def test_a_clean_trial_of_another_length_is_run_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, ran = tmp_path / "journal.jsonl", []

    def work(unit: plan.Unit) -> list[Row]:
        ran.append(unit.duration_s)
        return [pipeline_row([], scenario="clean", seed=1, simulated_s=unit.duration_s)]

    monkeypatch.setattr(runner, "work", work)
    for length in (600, 600, 4200):
        unit = plan.Unit("clean", "clean", 1, (plan.DEFAULT,), 1.0, length)
        runner.run([unit], RUN, journal, jobs=1, report=str)
    assert ran == [600, 4200]


def test_what_there_is_no_time_for_is_left_for_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = plan.units(plan.PlanRequest(only=("detector",), seeds=2, strategies=("vote007",)))
    monkeypatch.setattr(
        runner, "work", lambda unit: [path_row("vote007", unit.seed, 1.0)]
    )  # fmt: skip
    journal = tmp_path / "journal.jsonl"
    assert not runner.run(units, RUN, journal, jobs=1, limit_min=0.0, report=str)
    assert len(runner.run(units, RUN, journal, jobs=1, limit_min=1.0, report=str)) == 2


# Figures


def test_intervals_are_those_of_the_textbook() -> None:
    assert intervals.share(8, 10) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
    assert intervals.share(0, 0) is None
    assert intervals.rate(0, 2.0) == pytest.approx((0.0, 0.0, 3.6889 / 2), abs=1e-4)
    assert intervals.rate(3, 1.0) == pytest.approx((3.0, 0.6187, 8.7673), abs=1e-4)
    assert intervals.mean([4.0, 4.0]) == (4.0, 4.0, 4.0)
    assert intervals.mean([]) is None


def test_the_bootstrap_is_near_the_normal_interval_where_that_holds() -> None:
    values = [float(n % 10) for n in range(400)]  # mean 4.5, deviation 2.87, error of it 0.144
    assert intervals.mean(values) == pytest.approx((4.5, 4.5 - 0.281, 4.5 + 0.281), abs=0.02)
    assert intervals.mean(values) == intervals.mean(values)
    p95 = intervals.p95(values)
    assert p95 is not None
    assert p95.value == 9.0


def test_a_misnamed_fault_is_noticed_and_what_no_probe_shows_is_not_counted() -> None:
    figures = summary.pipeline_figures([row for row in ROWS[4:5] if isinstance(row, PipelineRow)])
    assert (figures.faults.faults, figures.faults.found) == (2, 1)
    assert figures.faults.noticed is not None
    assert figures.faults.noticed.value == 1.0
    assert figures.faults.naming is not None
    assert figures.faults.naming.value == 0.5
    assert (figures.false, figures.invented) == (2, 1)
    assert figures.precision is not None
    assert figures.precision.value == pytest.approx(1 / 3)


def test_the_direction_counts_where_only_one_was_hit() -> None:
    faults = [
        fault("crc_error", 4.0, direction="a>b", said_direction="a>b"),
        fault("crc_error", 4.0, direction="b>a", said_direction="both"),
        fault("crc_error", 4.0, said_direction="a>b"),
    ]
    directed = summary.fault_figures(faults).directed
    assert directed is not None
    assert directed.value == 0.5


class Told(NamedTuple):
    family: str
    second: int
    p: np.ndarray
    above: np.ndarray


def test_uniform_p_values_lie_on_the_line_and_small_ones_above_it() -> None:
    p = np.random.default_rng(1).random(200_000)
    fair, bold = calibration.Collector(0), calibration.Collector(0)
    fair.add(Told("loss", 100, p, p))
    bold.add(Told("loss", 100, p**2, p**2))
    counts = fair.histograms["loss"]
    assert calibration.ratio(counts, 2) == pytest.approx(1.0, abs=0.1)
    expected, observed = calibration.quantiles(counts)
    assert expected[:30] == pytest.approx(observed[:30], abs=0.1)
    assert calibration.ratio(bold.histograms["loss"], 2) == pytest.approx(10.0, rel=0.1)


def test_overlapping_windows_are_heard_once_and_trials_add_up() -> None:
    collector, p = calibration.Collector(0), np.full(7, 0.5)
    for second in (100, 101, 129, 130):
        collector.add(Told("loss", second, p, p))
    counts = collector.histograms
    assert counts == {"loss": [0, 0, 0, 14]}
    assert calibration.added([counts, {"loss": [1]}]) == {"loss": [1, 0, 0, 14]}


def test_simultaneous_faults_are_named_all_or_not_at_all() -> None:
    at = [(0.0, 30.0), (10.0, 40.0), (35.0, 50.0), (60.0, None), (500.0, 510.0)]
    groups = summary.together([fault("x", 4.0, start_s=a, end_s=b) for a, b in at])
    assert [len(group) for group in groups] == [3, 2]
    row = pipeline_row([fault("x", 4.0), fault("y", None)])
    figures = summary.pipeline_figures([row])
    assert figures.all_named is not None
    assert figures.all_named.value == 0.0


def test_goals_say_met_and_missed_and_not_run() -> None:
    said = {(goal.on, goal.goal): goal.met for goal in goals(ROWS)}
    assert said["detector", "not below the best other"] is True
    assert said["rail-512", "recall ≥ 99.5 %"] is False
    assert said["3 simultaneous faults", "all named in ≥ 95 %"] is None
    beaten: list[Row] = [path_row(plan.DEFAULT, 5000, 0.4), path_row("vote007", 5000, 0.5)]
    assert goals(beaten)[0].met is False


def test_a_quiet_hour_is_too_little_to_say_that_the_alarm_budget_holds() -> None:
    quiet = [pipeline_row([], scenario="clean", simulated_s=3600)]
    assert goals(quiet)[-1].met is None
    assert goals([replace(quiet[0], simulated_s=3 * 604_800)])[-1].met is True
    alarm = [FalseRow(component="tor:a", symptom="loss", at_s=9.0)]
    assert goals([replace(quiet[0], false=alarm)])[-1].met is False


# The page


def test_results_are_read_as_they_were_written_in_one_order(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    records.write(file, RUN, reversed(ROWS))
    first = file.read_bytes()
    assert records.read(file) == (RUN, sorted(ROWS, key=records.order))
    records.write(file, RUN, ROWS)
    assert file.read_bytes() == first


def test_the_page_is_drawn_anew_from_results_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "card.md"
    records.write(tmp_path / "card" / "results.jsonl", RUN, ROWS)
    pages = []
    for _ in range(2):
        with pytest.raises(SystemExit) as left:
            cli.main(["check", "scorecard", "--render-only", "--out", str(page)])
        assert left.value.code == 0
        pages.append((page.read_bytes(), (tmp_path / "card" / "settings.png").read_bytes()))
    assert pages[0] == pages[1]
    assert "MISSED  rail-512: recall" in capsys.readouterr().out


def test_bad_numbers_stay_on_the_page() -> None:
    page = render.markdown(RUN, ROWS, {"settings": "card/settings.png"})
    assert "| vote007 | 0.600 (0.500-0.700) | 0.500 |" in page
    assert "| rail-512 | 6000 | rnic_port_down | tor:a | 0.1 | both | tor:b |" in page
    assert "| rail-512 | 6000 | spine:x | loss | 200 |" in page
    assert "Never found: rnic_port_down." in page
    assert "| 13 | gpu_direct_rdma_error | high_latency | 1 | no probe shows it |" in page
    assert "**missed**" in page
    assert "abc123" in page
    assert "SURPRISE = 0.01" in page


def test_results_that_are_not_there_or_broken_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(records.RecordsError, match=r"No such file.*run `skeletonhunter check"):
        records.read(tmp_path / "none.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b'{"type":"walk"}\n')
    with pytest.raises(records.RecordsError, match="line 1: Invalid value 'walk'"):
        records.read(broken)
