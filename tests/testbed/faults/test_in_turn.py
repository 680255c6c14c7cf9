"""Faults in turn: each kind once, none beside another."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from testbed.faults.in_turn import InTurn
from testbed.faults.kinds import KINDS, NETWORK_KINDS

PLAN = InTurn(start_s=100, lasting_s=30, latency_lasting_s=70, gap_s=40)


def test_each_observable_kind_has_one_turn_with_time_to_heal_after_it() -> None:
    drawn = PLAN.draw(1)
    assert Counter(each.kind for each in drawn) == Counter(NETWORK_KINDS)
    assert drawn[0].start_s == 100
    assert all(b.start_s - a.end_s == 40 for a, b in pairwise(drawn))
    assert drawn[-1].end_s + 40 == PLAN.end_s


def test_a_latency_fault_lasts_as_long_as_it_takes_to_see_it() -> None:
    for each in PLAN.draw(1):
        slow = KINDS[each.kind].symptom == "high_latency"
        assert each.end_s - each.start_s == (70 if slow else 30)


def test_the_seed_chooses_the_order_of_faults_in_turn() -> None:
    first, again, other = ([each.kind for each in PLAN.draw(seed)] for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_faults_in_turn_of_an_unknown_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="no mix or kind 'gremlin'; use one of observable, "):
        InTurn(mix="gremlin", start_s=1, lasting_s=1, latency_lasting_s=1, gap_s=1)
    with pytest.raises(ValueError, match="in whole seconds, at least 1"):
        InTurn(start_s=1, lasting_s=1, latency_lasting_s=1, gap_s=0)
