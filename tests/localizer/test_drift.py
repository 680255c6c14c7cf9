"""Drift: half hours against half hours, five-tuples against the crowd."""

from __future__ import annotations

import math

import numpy as np
import pytest
from builders.clusters import START_S, Cluster, Message, Second, newest
from builders.clusters import observe as tell

from localizer.detectors.drift import PERIOD_S, Drift, DriftMemory, inflation, tail
from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

PATHS = 400
CROWD = np.arange(PATHS) % 2
ILL = np.arange(PATHS) < 40
USUAL = np.linspace(12, 30, PATHS)


def half_hours(count: int, *, ill_per_h: float, all_per_h: float = 0.0,
               seed: int = 1) -> tuple[DriftMemory, list[Drift]]:  # fmt: skip
    """Windows of 30 s of every path; the last comparisons."""
    rng = np.random.default_rng(seed)
    memory, found = DriftMemory(), []
    paths = np.arange(PATHS)
    for end_s in range(30, count * PERIOD_S + 1, 30):
        hours = end_s / 3600
        value = USUAL * (1 + hours * (ill_per_h * ILL + all_per_h))
        memory.learn(end_s, paths, value * rng.lognormal(0, 0.03, PATHS))
        found = memory.close(end_s, CROWD) or found
    return memory, found


def p_of(drift: Drift, members: np.ndarray) -> float:
    """Of one component beside ten others; as for the judge, it is not its own excuse."""
    others = np.stack([np.arange(PATHS) % 10 == n for n in range(10)]).astype(float) * ~members
    score = np.where(drift.valid, drift.shift / drift.noise, 0.0)
    inflated = inflation(others @ drift.valid.astype(float), others @ score)
    weight, shift = float(members @ drift.valid.astype(float)), float(members @ score)
    return float(tail(np.array([weight]), np.array([shift]), inflated)[0])


def test_the_newest_half_hour_is_compared_with_the_three_before() -> None:
    assert [d.lag_s for d in half_hours(4, ill_per_h=0.0)[1]] == [1800, 3600, 5400]


def test_three_per_cent_an_hour_is_found_within_two_hours() -> None:
    _, found = half_hours(4, ill_per_h=0.03)
    longest = found[-1]
    assert longest.shift[ILL].mean() == pytest.approx(math.log(1.045), abs=0.006)
    assert longest.shift[ILL].mean() > longest.smallest
    assert p_of(longest, ILL) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_nothing_drifts_that_is_quiet(seed: int) -> None:
    _, found = half_hours(4, ill_per_h=0.0, seed=seed)
    assert all(p_of(drift, ILL) > 1e-5 for drift in found)


def test_what_moves_all_paths_is_the_time_of_day() -> None:
    _, found = half_hours(4, ill_per_h=0.0, all_per_h=0.08)
    assert all(abs(drift.shift[ILL].mean()) < 0.004 for drift in found)
    assert all(p_of(drift, ILL) > 1e-5 for drift in found)


def test_half_an_hour_of_it_is_enough_where_source_ports_change_every_hour() -> None:
    """Other five-tuples, other routes: nothing of the hour before is compared."""
    rng = np.random.default_rng(5)
    memory, found = DriftMemory(), []
    for end_s in range(30, 2 * 3600 + 1, 30):
        old = end_s <= 3600
        paths = np.arange(PATHS) + (0 if old else PATHS)
        usual = USUAL * (1.0 if old else rng.permutation(np.linspace(0.8, 1.2, PATHS)))
        if end_s == 3630:
            after = usual
        usual = usual if old else after
        value = usual * (1 + 0.03 * end_s / 3600 * ILL) * rng.lognormal(0, 0.03, PATHS)
        memory.learn(end_s, paths, value)
        found = memory.close(end_s, np.tile(CROWD, 1 if old else 2)) or found
    shortest = found[0]
    assert [drift.valid.any() for drift in found] == [True, False, False]
    members = np.concatenate([np.zeros(PATHS, bool), ILL])
    assert shortest.shift[members].mean() == pytest.approx(0.0147, abs=0.002)
    assert shortest.shift[members].mean() > shortest.smallest
    noise = np.sqrt(members.sum()) / (shortest.shift / shortest.noise)[members].sum()
    assert noise < 1 / 10, "ten standard errors"


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_what_drifts_does_not_draw_the_crowd_after_it(share: float) -> None:
    ill = np.arange(PATHS) < share * PATHS
    rng = np.random.default_rng(6)
    memory = DriftMemory()
    for end_s in range(30, 2 * PERIOD_S + 1, 30):
        value = USUAL * (1 + 0.03 * ill * (end_s > PERIOD_S)) * rng.lognormal(0, 0.03, PATHS)
        memory.learn(end_s, np.arange(PATHS), value)
        found = memory.close(end_s, np.zeros(PATHS, np.int64))
    assert found[0].shift[ill].mean() == pytest.approx(math.log(1.03), abs=0.0025)


def test_paths_that_are_forgotten_take_their_past_with_them() -> None:
    memory, _ = half_hours(2, ill_per_h=0.0)
    memory.keep(np.arange(PATHS) >= 40)
    for end_s in range(2 * PERIOD_S + 30, 3 * PERIOD_S + 1, 30):
        memory.learn(end_s, np.arange(PATHS - 40), USUAL[40:])
    (half_an_hour, _) = memory.close(3 * PERIOD_S, CROWD[40:])
    assert half_an_hour.valid.all()
    assert np.abs(half_an_hour.shift).max() < 0.03, "each is compared with its own past"


def test_where_many_components_move_none_stands_out() -> None:
    rng = np.random.default_rng(3)
    weight = np.full(50, 30.0)
    restless = rng.normal(0, 8, 50) * np.sqrt(weight)
    assert tail(weight, restless, inflation(weight, restless)).min() > 1e-5


def test_few_pairs_say_nothing() -> None:
    assert tail(np.array([3.0]), np.array([99.0]), 1.0)[0] == 1.0


def test_what_a_path_costs_to_remember_does_not_grow() -> None:
    memory, _ = half_hours(9, ill_per_h=0.0)
    assert memory.nbytes <= 52 * PATHS


def test_after_a_hole_of_an_hour_nothing_is_compared_with_before() -> None:
    memory, _ = half_hours(3, ill_per_h=0.0)
    late = 3 * PERIOD_S + 2 * PERIOD_S
    for end_s in range(late + 30, late + PERIOD_S + 1, 30):
        memory.learn(end_s, np.arange(PATHS), USUAL)
    assert memory.close(late + PERIOD_S, CROWD) == []


# --- through the localizer -------------------------------------------------------------------

CLUSTER = Cluster(hosts=8)
FIRST_S = -START_S % PERIOD_S


def unprobed(p: Path, at: int) -> None:
    """Only heartbeats."""


def said(hours: float, factor: dict[str, float]) -> list[Message]:
    """Probes every 10 s, windows every 30 s; paths through a ToR grow by its factor an hour."""
    out: list[Message] = []

    def weather(p: Path, at: int) -> Second:
        passed = (at - FIRST_S) / 3600
        growth = 1.05 if at % 7200 > 3600 else 1.0  # everyone's
        for tor in {p.src_asw, p.dst_asw}:
            growth *= 1 + factor.get(tor, 0.0) * passed
        return Second(rtt_us=20.0 * growth)

    for at in range(FIRST_S, FIRST_S + int(3600 * hours) + 31, 30):
        for second in range(at - 29, at):
            out += CLUSTER.second(second - 1, weather if (at - second) % 10 == 0 else unprobed)
        *pane, punctuation = CLUSTER.second(at - 1, weather)
        out += [*pane, CLUSTER.window(at, weather), punctuation]
    return out


def drifted(hours: float, **factor: float) -> list[Incident]:
    localizer = Localizer(topology=CLUSTER.topology)
    found = tell(localizer, said(hours, factor)).incidents
    return newest(found + localizer.finish().incidents)


def test_a_tor_whose_paths_slow_down_by_three_per_cent_an_hour_is_named() -> None:
    (incident,) = drifted(2.6, asw10=0.03)
    assert (incident.component, incident.symptom) == ("tor:asw10", "high_latency")
    assert incident.evidence["drift"]["percent"] == pytest.approx(3.0, abs=1.6)  # type: ignore[index]
    assert "while the others did not" in str(incident.evidence["text"])


def test_a_fabric_that_slows_down_as_a_whole_is_no_incident() -> None:
    assert drifted(2.6, asw10=0.03, asw11=0.03, asw20=0.03, asw21=0.03) == []
