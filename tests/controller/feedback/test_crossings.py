"""Which members of a tie set a new five-tuple crosses, before its route is known."""

from __future__ import annotations

from itertools import combinations

import pytest
from builders.controller.incident_grounds import pods

from controller.feedback.crossings import TieCrossings
from controller.ping_lists import endpoints
from controller.ping_lists.endpoints import Endpoint

TOPOLOGY = pods()
ENDS = endpoints.underlay(TOPOLOGY)
BOX = Endpoint("h000", 0, "172.16.0.1", "10.0.0.1", "overlay", "c0", "tor-0-0", "", "", "")


def masks(a: str, b: str, *tie: str) -> dict[int, float]:
    found = TieCrossings(TOPOLOGY, tie).round_trip(ENDS[a], ENDS[b])
    return {mask: round(p, 9) for mask, p in found.items() if p > 0}


def test_what_belongs_to_an_endpoint_is_crossed_for_certain() -> None:
    rnic, cable = "rnic:10.0.0.1", "link:rnic:10.0.0.1|tor:tor-0-0"
    tie = (rnic, cable, "host:h000", "tor:tor-0-0")
    assert masks("10.0.0.1", "10.1.0.1", *tie) == {0b1111: 1.0}
    assert masks("10.0.1.1", "10.1.0.1", *tie) == {0b1000: 1.0}
    assert masks("10.0.2.1", "10.1.0.1", *tie) == {0: 1.0}


def test_only_the_overlay_crosses_containers_and_vswitches() -> None:
    known = TieCrossings(TOPOLOGY, ["vswitch:h000", "container:c0", "rnic:10.0.0.1"])
    assert known.own(BOX) == 0b111
    assert known.own(ENDS["10.0.0.1"]) == 0b100


def test_two_ways_out_of_a_tor_are_taken_with_equal_probability_in_each_direction() -> None:
    agg = "agg:agg-0-0"
    assert masks("10.0.0.1", "10.0.2.1", agg) == {0: 0.25, 1: 0.75}
    assert masks("10.0.0.1", "10.1.0.1", agg) == {0: 0.25, 1: 0.75}


def test_a_link_is_crossed_only_with_both_of_its_ends() -> None:
    spine, link = "spine:spine-0-0", "link:agg:agg-0-0|spine:spine-0-0"
    found = masks("10.0.0.1", "10.1.0.1", spine, link)
    assert found == {0b00: 0.5625, 0b11: 0.4375}
    assert masks("10.0.0.1", "10.0.2.1", spine, link) == {0: 1.0}, "inside a pod"


def test_below_one_tor_only_the_tor_is_crossed() -> None:
    assert masks("10.0.0.1", "10.0.1.1", "tor:tor-0-0", "agg:agg-0-0") == {0b01: 1.0}


@pytest.mark.parametrize(("a", "b"), [*combinations([*ENDS][::3], 2)])
def test_probabilities_sum_to_one_and_are_alike_in_both_directions(a: str, b: str) -> None:
    tie = ("agg:agg-0-0", "spine:spine-0-1", "tor:tor-0-0", "link:agg:agg-1-1|tor:tor-1-0")
    assert sum(masks(a, b, *tie).values()) == pytest.approx(1.0)
    assert masks(a, b, *tie) == pytest.approx(masks(b, a, *tie))
    known = TieCrossings(TOPOLOGY, tie)
    assert known.any_member(ENDS[a], ENDS[b]) == pytest.approx(1 - masks(a, b, *tie).get(0, 0.0))
