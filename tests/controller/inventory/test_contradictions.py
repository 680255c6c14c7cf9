"""What traceroutes contradict in a topology document, on fabrics whose real cables are known."""

from __future__ import annotations

import math
from itertools import product

import msgspec
import pytest
from builders.controller.traced_fabrics import clos_fabric, compared, relinked, rewired, traces
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from controller.inventory.traced.absence import log_missed
from controller.inventory.traced.contradictions import compare
from controller.inventory.traced.routes import FiveTuple, Observed, Trace
from controller.ping_lists.ecmp import SwitchPaths
from schemas.documents.topology import Rnic, Switch, Topology

REAL = clos_fabric()
ASWS, PSWS, DSWS = ([s.id for s in REAL.switches if s.tier == t] for t in ("asw", "psw", "dsw"))
UPLINKS = [link for link in REAL.links if link[0] in PSWS]
TOR_LINKS = [link for link in REAL.links if link[0] in ASWS]


def kinds(comparison: object) -> list[tuple[str, set[str]]]:
    return [(each.kind, {*each.subject}) for each in comparison.contradictions]  # type: ignore[attr-defined]


@given(st.integers(1, 4000), st.sampled_from([2, 3]), st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_a_document_that_is_right_has_no_contradiction(seed: int, tiers: int, ports: int) -> None:
    real = clos_fabric(seed, tiers=tiers)
    assert compared(real, real, ports).contradictions == []


@given(st.integers(1, 4000), st.sampled_from([2, 3]), st.data())
@settings(max_examples=40, deadline=None)
def test_each_cable_that_is_not_there_is_named_and_nothing_else(
    seed: int, tiers: int, data: st.DataObject
) -> None:
    document = clos_fabric(seed, tiers=tiers)
    links = data.draw(st.lists(st.sampled_from(document.links), min_size=1, max_size=2))
    gone = dict.fromkeys(links)
    real = relinked(document, *((link, None) for link in gone))
    # Of a ToR without any cable there is no traceroute that could contradict.
    assume({a for a, _ in real.links} == {a for a, _ in document.links})
    found = compared(document, real, 16)
    # Where a switch has lost all ways up, routes avoid it: its other links are not crossed either.
    stale = {frozenset(each.subject) for each in found.contradictions}
    assert {frozenset(link) for link in gone} <= stale | {
        frozenset(link)
        for link in document.links
        for each in found.contradictions
        if each.kind == "stale switch" and each.subject[0] in link
    }
    assert {each.kind for each in found.contradictions} <= {"stale cable", "stale switch"}
    if len(gone) == 1:
        assert len(found.contradictions) == 1


@given(st.integers(1, 4000), st.data())
@settings(max_examples=25, deadline=None)
def test_any_two_exchanged_uplinks_of_a_tier_are_one_contradiction(
    seed: int, data: st.DataObject
) -> None:
    document = clos_fabric(seed, tiers=2)
    a, b = data.draw(st.permutations([s.id for s in document.switches if s.tier == "asw"]))[:2]
    s, t = data.draw(st.permutations([s.id for s in document.switches if s.tier == "dsw"]))[:2]
    # All ToRs have links to all spines, so that two cables less make room for the exchange.
    real = relinked(document, ((a, t), None), ((b, s), None))
    wrong = relinked(document, ((a, s), None), ((b, t), None))
    assert kinds(compared(wrong, real, 16)) == [("swapped ports", {a, b, s, t})]


@pytest.mark.parametrize("link", [TOR_LINKS[0], UPLINKS[0]])
def test_a_cable_that_is_not_there_is_stale(link: tuple[str, str]) -> None:
    found = compared(REAL, relinked(REAL, (link, None)))
    assert kinds(found) == [("stale cable", {*link})]
    (stale,) = found.contradictions
    assert stale.probability is not None
    assert stale.probability < 1e-4
    assert "no traceroute crosses it" in stale.text


@pytest.mark.parametrize("link", [TOR_LINKS[0], UPLINKS[0]])
def test_a_cable_that_the_document_lacks_is_an_unlisted_link(link: tuple[str, str]) -> None:
    found = compared(relinked(REAL, (link, None)), REAL)
    assert kinds(found) == [("unlisted link", {*link})]
    assert found.contradictions[0].traces >= 2
    assert ", ".join(link) in found.contradictions[0].example or (
        ", ".join(link[::-1]) in found.contradictions[0].example
    )


def test_two_cables_that_were_exchanged_are_one_contradiction() -> None:
    (a, s), (b, t) = UPLINKS[0], next(u for u in UPLINKS if not {*u} & {*UPLINKS[0]})
    real = relinked(REAL, ((a, s), None), ((b, t), None))
    found = compared(relinked(REAL, ((a, t), None), ((b, s), None)), real)
    assert kinds(found) == [("swapped ports", {a, s, b, t})]


def test_two_rnics_that_were_exchanged_are_one_contradiction() -> None:
    one, two = REAL.hosts[0].rnics
    real = rewired(
        REAL, **{one.real_ip.replace(".", "_"): two.asw, two.real_ip.replace(".", "_"): one.asw}
    )
    found = compared(REAL, real)
    assert kinds(found) == [("swapped ports", {one.real_ip, two.real_ip})]
    assert REAL.hosts[0].node_sn in found.contradictions[0].text


def test_an_rnic_behind_another_switch_is_named_with_both() -> None:
    one, two = REAL.hosts[0].rnics
    found = compared(REAL, rewired(REAL, **{one.real_ip.replace(".", "_"): two.asw}))
    assert kinds(found) == [("rnic elsewhere", {one.real_ip})]
    assert f"behind {one.asw} in the document" in found.contradictions[0].text
    assert f"behind {two.asw}" in found.contradictions[0].text


def bonded(*asws: str) -> Topology:
    """The fabric as it is, but that the document bonds the first rnic over some switches."""
    host, *others = REAL.hosts
    one, *rnics = host.rnics
    bond = Rnic(one.real_ip, one.rail, asws=[*asws])
    return msgspec.structs.replace(
        REAL, hosts=[msgspec.structs.replace(host, rnics=[bond, *rnics]), *others]
    )


def test_a_bonded_rnic_may_be_behind_each_of_its_switches_and_no_other() -> None:
    one = REAL.hosts[0].rnics[0]
    two, three = [asw for asw in ASWS if asw != one.asw][:2]
    assert kinds(compared(bonded(one.asw, two), REAL)) == []
    found = compared(bonded(two, three), REAL)
    assert kinds(found) == [("rnic elsewhere", {one.real_ip})]
    assert f"behind {two} and {three} in the document" in found.contradictions[0].text


def test_a_switch_that_the_document_lacks_is_unknown() -> None:
    lost = DSWS[0]
    document = msgspec.structs.replace(
        REAL,
        switches=[s for s in REAL.switches if s.id != lost],
        links=[link for link in REAL.links if lost not in link],
    )
    assert kinds(compared(document, REAL)) == [("unknown switch", {lost})]


def test_an_address_that_is_missing_names_the_only_switch_that_it_can_be_of() -> None:
    a, s = UPLINKS[0]
    document = relinked(REAL, *(((a, other), None) for other in DSWS if other != s))
    observed = Observed(document)
    below = next(x for x, y in TOR_LINKS if y == a)
    routes = [Trace(FiveTuple("1", "2", port, 9), "", "", (below, "10.9.9.9", s), False)
              for port in (1, 2)]  # fmt: skip
    observed.add(routes)
    (found,) = compare(document, observed).contradictions
    assert found.kind == "unknown switch"
    assert f"between {below} and {s}" in found.text


def test_addresses_of_interfaces_are_the_switch() -> None:
    named = [Switch(s.id, s.tier, s.pod, [f"if-{s.id}"]) for s in REAL.switches]
    document = msgspec.structs.replace(REAL, switches=named)
    observed = Observed(document)
    observed.add(
        each._replace(hops=tuple(f"if-{hop}" for hop in each.hops)) for each in traces(REAL)
    )
    assert compare(document, observed).contradictions == []


def test_a_switch_without_any_route_is_one_contradiction() -> None:
    real = clos_fabric(3, tiers=2)
    dead = next(s.id for s in real.switches if s.tier == "dsw")
    gone = [(link, None) for link in real.links if dead in link]
    assert kinds(compared(real, relinked(real, *gone))) == [("stale switch", {dead})]


def test_a_spine_that_a_pod_cannot_reach_is_stale_as_a_whole() -> None:
    pods = {s.id: s.pod for s in REAL.switches}
    spine, pod = DSWS[0], pods[PSWS[0]]
    cut = [(link, None) for link in UPLINKS if spine in link and pods[link[0]] == pod]
    assert kinds(compared(REAL, relinked(REAL, *cut), 16)) == [("stale switch", {spine})]


def test_polarized_hashes_are_no_stale_cables() -> None:
    found = compared(REAL, REAL, 64, polarized=True)
    assert found.contradictions == []
    assert found.seen < found.links
    assert "polarized" in found.notes[0]


def test_too_few_five_tuples_tell_nothing_and_that_is_counted() -> None:
    link = UPLINKS[0]
    few = list(traces(relinked(REAL, (link, None)), 1))[:40]
    observed = Observed(REAL)
    observed.add(few)
    found = compare(REAL, observed)
    assert found.contradictions == []
    assert found.unknown > 0


def test_a_route_seen_once_is_not_counted() -> None:
    observed = Observed(REAL)
    once = Trace(FiveTuple("1", "2", 1, 2), "", "", (ASWS[0], ASWS[1]), False)
    observed.add([*traces(REAL), once])
    found = compare(REAL, observed)
    assert found.contradictions == []
    assert found.notes == [
        "1 links and hops that one traceroute shows are not counted: its hops may be of two routes"
    ]


def test_silent_hops_and_ends_in_the_route_show_nothing_wrong() -> None:
    def with_ends(n: int, each: Trace) -> Trace:
        hops = (each.src_rnic, *each.hops, each.dst_rnic)
        return each._replace(
            hops=tuple(None if n % 3 == k and k else h for k, h in enumerate(hops))
        )

    observed = Observed(REAL)
    observed.add(with_ends(n, each) for n, each in enumerate(traces(REAL)))
    assert compare(REAL, observed).contradictions == []


def test_an_rnic_that_no_host_has_is_unknown() -> None:
    observed = Observed(REAL)
    observed.add(Trace(FiveTuple("10.9.9.9", "1", p, 2), "10.9.9.9", "", (ASWS[0],), False)
                 for p in (1, 2))  # fmt: skip
    assert kinds(compare(REAL, observed)) == [("unknown rnic", {"10.9.9.9"})]


@given(st.integers(1, 200), st.integers(2, 8))
def test_the_probability_of_missing_one_of_n_equal_links_is_that_of_independent_draws(
    five_tuples: int, ways: int
) -> None:
    links = [(tor, f"s{n}") for tor in "ab" for n in range(ways)]
    traced = {("a", "b"): {FiveTuple("x", "y", n, 1) for n in range(five_tuples)}}
    missed = log_missed(SwitchPaths(Topology(links=links)), traced)
    for n, end in product(range(ways), "ab"):
        log, expected = missed[end, f"s{n}"]
        assert math.isclose(log, five_tuples * math.log(1 - 1 / ways))
        assert math.isclose(expected, five_tuples / ways)


def test_a_link_that_every_route_crosses_cannot_be_missed() -> None:
    paths = SwitchPaths(Topology(links=[("a", "b")]))
    assert log_missed(paths, {("a", "b"): {FiveTuple("x", "y", 1, 1)}}) == {
        ("a", "b"): (-math.inf, 1.0)
    }
