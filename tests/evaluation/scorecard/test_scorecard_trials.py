"""One trial: the strategies on a published setting, and the pipeline on a scenario."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from evaluation.scorecard import plan, tuned_baselines
from evaluation.scorecard.trials import paths, pipeline
from localizer import strategies
from localizer.evidence import Attribution, Evidence
from localizer.strategies import Strategy
from schemas.component_ids import kind_of
from testbed.scenarios import published, scenario


@pytest.mark.slow
def test_baselines_are_tuned_on_the_tuning_seeds_only_and_are_better_there() -> None:
    drawn: list[int] = []

    def trial(setting: str, seed: int) -> published.Trial:
        drawn.append(seed)
        return published.trial(setting, seed)

    best = tuned_baselines.chosen("detector", trial)
    assert sorted(drawn) == list(tuned_baselines.TUNED_ON)
    assert best.keys() == {name.removesuffix(", swept") for name in tuned_baselines.names()}
    assert plan.DEFAULT not in best

    def get(label: str, setting: str) -> Strategy:
        tuned = strategies.variants("netbouncer")[best["netbouncer"]]
        return tuned if tuned_baselines.is_tuned(label) else strategies.get(label)

    names = ["netbouncer", "netbouncer, swept"]
    rows = [
        row for seed in tuned_baselines.TUNED_ON for row in paths.run("detector", seed, names, get)
    ]
    shipped, tuned = (sum(row.f1 for row in rows[first::2]) for first in (0, 1))
    assert tuned > shipped


def test_a_strategy_that_raises_scores_nothing_on_the_draw_of_the_others() -> None:
    def fails(evidence: Evidence) -> list[Attribution]:
        raise ArithmeticError("no such luck")

    def get(label: str, setting: str) -> Strategy:
        return fails if label == "fails" else tuned_baselines.get(label, setting)

    good, bad = paths.run("detector", 1000, ["vote007", "fails"], get)
    assert good.f1 > 0
    assert good.bad == bad.bad > 0
    assert (bad.f1, bad.error) == (0.0, "ArithmeticError: no such luck")


def test_the_pipeline_finds_the_faulty_link_of_a_small_cluster() -> None:
    row = pipeline.run("small", 1000, plan.DEFAULT)
    (link,) = row.faults
    assert kind_of(link.component) == "link"
    assert link.found
    assert link.seconds is not None
    assert 0 < link.seconds < 30
    assert row.records > 20_000
    assert row.error is None


def test_a_clean_trial_simulates_the_requested_duration() -> None:
    row = pipeline.run("clean", 1000, plan.DEFAULT, 12)
    assert (row.clean, row.simulated_s, row.faults) == (True, 12, [])
    assert sum(row.p_values["loss 5 s"]) > 100


def test_the_class_of_an_rnic_holds_its_link_and_that_of_a_spine_nothing_else() -> None:
    simulation = scenario.load("small").simulation(seed=1000, start_ns=0)
    names = simulation.network.components
    one = {
        kind: next(n for n in names if kind_of(n) == kind) for kind in ("rnic", "spine", "agent")
    }
    sizes = pipeline.class_sizes(simulation, list(one.values()))
    assert sizes == [2, 1, 1]


def test_five_sigma_of_losses_take_as_long_as_the_textbook_says() -> None:
    simulation = scenario.load("small").simulation(seed=1000, start_ns=0)
    (link,) = simulation.faults
    times = [
        pipeline.five_sigma_s(simulation, replace(link, magnitude=magnitude))
        for magnitude in (0.002, 0.001)
    ]
    assert times[0] is not None
    assert times[1] is not None
    assert 2 < times[1] / times[0] < 4, "half the loss: twice the time, four times among noise"
    whole = pipeline.five_sigma_s(simulation, replace(link, magnitude=1.0))
    assert whole is not None
    crossed = simulation.paths.visits(simulation.network.index[link.component]).sum() / 4
    assert whole == pytest.approx(25 / crossed, abs=0.06), "25 lost probes"
    assert pipeline.five_sigma_s(simulation, replace(link, kind="latency_drift")) is None
