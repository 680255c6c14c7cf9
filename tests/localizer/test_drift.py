"""Drift: half hours against half hours, pairs against the crowd."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawings import START_S, Cluster, Message, Second, newest
from drawings import observe as tell

from localizer.detectors.drift import PERIOD_S, SMALLEST, Drift, DriftMemory, inflation, tail
from localizer.engine import Localizer
from localizer.paths import Path
from schemas.incident import Incident

PAIRS = 400
CROWD = np.arange(PAIRS) % 2
ILL = np.arange(PAIRS) < 40
USUAL = np.linspace(12, 30, PAIRS)


def half_hours(count: int, *, ill_per_h: float, all_per_h: float = 0.0, seed: int = 1,
               ports_us: float = 0.0) -> tuple[DriftMemory, list[Drift]]:  # fmt: skip
    """Windows of 30 s of every pair; the last comparisons."""
    rng = np.random.default_rng(seed)
    memory, found, at = DriftMemory(), [], 0
    pairs = np.arange(PAIRS)
    for end_s in range(30, count * PERIOD_S + 1, 30):
        if end_s % 3600 == 30:  # new source ports, new routes
            at = rng.normal(0, ports_us, PAIRS)
        hours = end_s / 3600
        value = USUAL * (1 + hours * (ill_per_h * ILL + all_per_h)) + at
        memory.learn(end_s, pairs, value * rng.lognormal(0, 0.03, PAIRS))
        found = memory.close(end_s, CROWD) or found
    return memory, found


def p_of(drift: Drift, members: np.ndarray) -> float:
    groups = np.stack([np.arange(PAIRS) % 10 == n for n in range(10)] + [members]).astype(float)
    score = np.where(drift.valid, drift.shift / drift.noise, 0.0)
    weight, shift = groups @ drift.valid.astype(float), groups @ score
    return float(tail(weight, shift, inflation(weight, shift))[-1])


def test_the_newest_half_hour_is_compared_with_the_three_before() -> None:
    assert [d.lag_s for d in half_hours(4, ill_per_h=0.0)[1]] == [1800, 3600, 5400]


def test_three_per_cent_an_hour_is_found_within_two_hours() -> None:
    _, found = half_hours(4, ill_per_h=0.03)
    longest = found[-1]
    assert longest.shift[ILL].mean() == pytest.approx(math.log(1.045), abs=0.006)
    assert longest.shift[ILL].mean() > SMALLEST
    assert p_of(longest, ILL) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_nothing_drifts_that_is_quiet(seed: int) -> None:
    _, found = half_hours(4, ill_per_h=0.0, seed=seed)
    assert all(p_of(drift, ILL) > 1e-5 for drift in found)


def test_what_moves_all_paths_is_the_time_of_day() -> None:
    _, found = half_hours(4, ill_per_h=0.0, all_per_h=0.08)
    assert all(abs(drift.shift[ILL].mean()) < 0.004 for drift in found)
    assert all(p_of(drift, ILL) > 1e-5 for drift in found)


def test_it_is_found_although_source_ports_changed_meanwhile() -> None:
    _, found = half_hours(4, ill_per_h=0.03, ports_us=0.5)
    assert p_of(found[-1], ILL) < 1e-6


def test_where_many_components_move_none_stands_out() -> None:
    rng = np.random.default_rng(3)
    weight = np.full(50, 30.0)
    restless = rng.normal(0, 8, 50) * np.sqrt(weight)
    assert tail(weight, restless, inflation(weight, restless)).min() > 1e-5


def test_few_pairs_say_nothing() -> None:
    assert tail(np.array([3.0]), np.array([99.0]), 1.0)[0] == 1.0


def test_what_a_pair_costs_to_remember_does_not_grow() -> None:
    memory, _ = half_hours(9, ill_per_h=0.0)
    assert memory.nbytes <= 52 * PAIRS


def test_after_a_hole_of_an_hour_nothing_is_compared_with_before() -> None:
    memory, _ = half_hours(3, ill_per_h=0.0)
    late = 3 * PERIOD_S + 2 * PERIOD_S
    for end_s in range(late + 30, late + PERIOD_S + 1, 30):
        memory.learn(end_s, np.arange(PAIRS), USUAL)
    assert memory.close(late + PERIOD_S, CROWD) == []


# --- through the localiser -------------------------------------------------------------------

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
