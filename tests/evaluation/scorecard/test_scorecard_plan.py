"""The plan of a scorecard: which trials, on which seeds, in which order."""

from __future__ import annotations

import pytest

from evaluation.scorecard import costs, plan, tuned_baselines
from localizer import strategies
from skeletonhunter import cli
from testbed.scenarios import published, scenario


def test_every_strategy_meets_every_setting_on_twenty_final_seeds() -> None:
    for setting in published.SETTINGS:
        units = [u for u in plan.units(plan.PlanRequest()) if (u.part, u.name) == ("path", setting)]
        assert [unit.seed for unit in units] == list(range(5000, 5020))
        names = (*strategies.names(), *tuned_baselines.names())
        assert all(unit.strategies == names for unit in units)


@pytest.mark.parametrize("full", [False, True])
def test_every_shipped_scenario_is_run_by_the_default_strategy(full: bool) -> None:
    """In the full plan; the other one leaves out what takes too long, and says so in ``FEWER``."""
    units = plan.units(plan.PlanRequest(full=full))
    run = {unit.name for unit in units if plan.DEFAULT in unit.strategies}
    too_long = set() if full else {name for name, seeds in plan.FEWER.items() if not seeds}
    assert run & set(scenario.names()) == set(scenario.names()) - too_long
    assert len(too_long) <= 1


def test_final_seeds_are_not_those_that_are_tuned_on() -> None:
    tuned_on = range(1, 1100)
    assert not [unit for unit in plan.units(plan.PlanRequest()) if unit.seed in tuned_on]
    assert all(unit.seed in tuned_on for unit in plan.units(plan.PlanRequest(quick=True)))
    developed = plan.units(plan.PlanRequest(seeds_from=1000, only=("detector",)))
    assert {unit.seed for unit in developed} == set(range(1000, 1020))


@pytest.mark.parametrize(("quick", "minutes"), [(False, 90), (True, 5)])
def test_the_plan_fits_its_time_on_two_cores(quick: bool, minutes: int) -> None:
    cost_s = sum(unit.cost_s for unit in plan.units(plan.PlanRequest(quick=quick)))
    assert cost_s / 2 / 60 < minutes * 0.95


def test_scenarios_with_fewer_seeds_exist() -> None:
    assert plan.FEWER.keys() <= set(scenario.names())
    assert len(plan.seeds_of("pipeline", plan.PlanRequest(), "small")) == plan.SEEDS
    assert (
        len(plan.seeds_of("pipeline", plan.PlanRequest(), "rail-2048")) == plan.FEWER["rail-2048"]
    )


def test_the_full_plan_has_all_seeds_of_expensive_scenarios() -> None:
    full = plan.PlanRequest(full=True)
    assert full.final
    assert all(len(plan.seeds_of("pipeline", full, name)) == plan.SEEDS for name in plan.FEWER)


def test_a_gently_probed_cluster_costs_less_than_its_paths() -> None:
    cost = [costs.cost_s(name) / scenario.load(name).duration_s for name in ("cadence-25", "gray")]
    assert cost[0] < cost[1] / 1.5, "as many paths; one probe in 25 s instead of one a second"


def test_every_scenario_has_its_first_seed_before_any_has_its_second() -> None:
    units = plan.rounds(plan.units(plan.PlanRequest(strategies=(plan.DEFAULT,))))
    path = [unit.part == "path" for unit in units]
    assert path == sorted(path, reverse=True), "the cheap settings come first"
    units = units[sum(path) :]
    first = [unit.name for unit in units[: len({unit.name for unit in units})]]
    assert len(set(first)) == len(first)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
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
