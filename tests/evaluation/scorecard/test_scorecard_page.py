"""The page: goals, the results file, and what is drawn from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.scorecard_rows import ROWS, RUN, fault, path_row, pipeline_row
from msgspec.structs import replace

from evaluation.scorecard import plan, records
from evaluation.scorecard.page import render
from evaluation.scorecard.page.goals import goals
from evaluation.scorecard.records import FalseRow, FaultRow, Row
from skeletonhunter import cli


def test_a_goal_is_met_or_missed_or_not_run() -> None:
    met = {(goal.on, goal.goal): goal.met for goal in goals(ROWS)}
    assert met["detector", "not below the best other"] is True
    assert met["rail-512", "recall ≥ 99.5 %"] is False
    assert met["3 simultaneous faults", "all named in ≥ 95 %"] is None
    beaten: list[Row] = [path_row(plan.DEFAULT, 5000, 0.4), path_row("vote007", 5000, 0.5)]
    assert goals(beaten)[0].met is False


def test_one_clean_hour_neither_meets_nor_misses_the_goal_for_false_alarms() -> None:
    quiet = [pipeline_row([], scenario="clean", simulated_s=3600)]
    assert goals(quiet)[-1].met is None
    assert goals([replace(quiet[0], simulated_s=3 * 604_800)])[-1].met is True
    alarm = [FalseRow(component="tor:a", symptom="loss", at_s=9.0)]
    assert goals([replace(quiet[0], false=alarm)])[-1].met is False


def test_results_are_read_back_and_their_order_does_not_depend_on_the_run(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    records.write(file, RUN, reversed(ROWS))
    first = file.read_bytes()
    assert records.read(file) == (RUN, sorted(ROWS, key=records.key))
    records.write(file, RUN, ROWS)
    assert file.read_bytes() == first


def test_the_page_is_drawn_from_the_results_alone(
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


def test_the_page_shows_missed_goals_and_wrong_incidents() -> None:
    page = render.markdown(RUN, ROWS, {"settings": "card/settings.png"})
    assert "| vote007 | 0.600 (0.500-0.700) | 0.500 |" in page
    assert "| rail-512 | 6000 | rnic_port_down | tor:a | 0.1 | both | tor:b |" in page
    assert "| rail-512 | 6000 | spine:x | loss | 200 |" in page
    assert "Never found: rnic_port_down." in page
    assert "| 13 | gpu_direct_rdma_error | high_latency | 1 | no probe shows it |" in page
    assert "**missed**" in page
    assert "abc123" in page
    assert "SURPRISE = 0.01" in page


def test_missing_and_broken_results_are_errors_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(records.RecordsError, match=r"No such file.*run `skeletonhunter check"):
        records.read(tmp_path / "none.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b'{"type":"walk"}\n')
    with pytest.raises(records.RecordsError, match="line 1: Invalid value 'walk'"):
        records.read(broken)


def test_a_gentle_cluster_is_judged_in_rounds_of_its_own() -> None:
    slow = [
        fault("crc_error", 50.0),
        fault("rnic_port_down", 25.0, symptom="unconnectivity"),
        fault("offloading_failure", 250.0, symptom="high_latency", effect="latency"),
    ]
    rows: list[Row] = [pipeline_row(slow, scenario="cadence-25", every_s=25)]
    by = {goal.goal: goal for goal in goals(rows) if goal.on == "cadence-25"}
    assert [goal.met for goal in by.values()] == [True, False]
    assert "latency 10.0" in [goal.reached for goal in by.values()][1]
    page = render.markdown(RUN, rows, {})
    assert "| cadence-25 | 25 | 1 | 1 | 3 |" in page
    assert "1 of 1; 10.0 (10.0-10.0), 10.0 |" in page


def test_what_a_cadence_buys_is_listed_by_trouble_and_component() -> None:
    quick, slow = fault("tor_loss", 4.0), fault("tor_loss", 50.0)
    rows: list[Row] = [
        pipeline_row([slow, fault("tor_loss", None)], scenario="cadence-25", every_s=25),
        pipeline_row([quick], scenario=render.EVERY_SECOND),
    ]
    page = render.markdown(RUN, rows, {})
    assert "| trouble | component | rail-512: 1 s x 1 | cadence-25: 25 s x 1 |" in page
    assert "| loss ≥ 5 % | tor | 4 (4-4), 4; 1 of 1 | 50 (50-50), 50; 1 of 2 |" in page


def test_gray_losses_are_to_be_named_in_time_and_nothing_else() -> None:
    def reached(faults: list[FaultRow], false: list[FalseRow]) -> bool | None:
        own = [pipeline_row(faults, false, scenario="gray")]
        return next(goal.met for goal in goals(own) if "gray" in goal.on)

    in_time = fault("tor_loss", 800.0, magnitude=0.002)
    assert reached([in_time], []) is True
    assert reached([in_time], [FalseRow(component="tor:b", symptom="loss", at_s=9.0)]) is False
    assert reached([in_time, fault("tor_loss", 901.0)], []) is False


def test_a_gray_loss_is_set_beside_the_time_that_its_evidence_takes() -> None:
    slow = fault("tor_loss", 300.0, magnitude=0.002, five_sigma_s=100.0)
    page = render.markdown(RUN, [pipeline_row([slow], scenario="gray")], {})
    assert "| tor | 1 | 100.0 % (20.7-100.0) | 300 (300-300)" in page
    assert "| 100 (100-100) | 3.0 (3.0-3.0) |" in page
