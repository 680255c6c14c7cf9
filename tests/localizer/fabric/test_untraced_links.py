"""Without a document, a verdict names all that traceroutes have not told apart yet, and says so."""

from __future__ import annotations

import pytest
from builders.simulated_fabrics import (
    SHAPES,
    THREE_TIERS,
    TWO_TIERS,
    Tracing,
    broken,
    every_version,
    from_second,
    last_versions,
    never,
    sparsely,
)

from schemas.component_ids import kind_of, link_ends
from schemas.documents.incident import Incident

BEGIN, END = 20, 10**6
pytestmark = [pytest.mark.slow]


def story(
    shape: str, where: str, tracing: Tracing, *, seed: int, upto: int = 60, document: bool = False,
    kind: str = "link_loss", magnitude: float = 0.3,
) -> tuple[str, list[Incident]]:  # fmt: skip
    """The place that is broken, and every version of every incident."""
    simulation = broken(SHAPES[shape], seed, [(kind, where, BEGIN, END, magnitude)])
    (fault,) = simulation.faults
    return fault.component, every_version(simulation, upto, tracing, document=document)


def uplinks(component: str) -> set[str]:
    """What the unknown links of the ToRs at the ends of a link are called."""
    return {f"link:?|{end}" for end in link_ends(component) if kind_of(end) == "tor"}


def warned(incident: Incident) -> bool:
    warning = str(incident.evidence.get("warning", ""))
    assert (warning in str(incident.evidence["text"])) or not warning
    return warning.startswith("routes of ") and warning.endswith("pass --topology or wait")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("shape", "where"), [("two tiers", "any tor-spine link"), ("three tiers", "any tor-agg link")]
)
def test_a_tor_is_not_blamed_alone_while_nothing_above_it_is_traced(
    shape: str, where: str, seed: int
) -> None:
    place, found = story(shape, where, never, seed=seed)
    assert found
    for incident in found:
        assert incident.kind == "tor"
        assert uplinks(place) & {*incident.tie_set}
        assert warned(incident)
        assert incident.confidence <= 0.5


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("shape", "where"),
    [
        ("two tiers", "any tor-spine link"), ("three tiers", "any tor-agg link"),
        ("three tiers", "any agg-spine link"),
    ],
)  # fmt: skip
def test_with_few_routes_the_broken_link_is_in_the_tie_set(
    shape: str, where: str, seed: int
) -> None:
    place, found = story(shape, where, sparsely, seed=seed)
    assert any(place in incident.tie_set for incident in last_versions(found))
    for incident in last_versions(found):
        assert (
            place in incident.tie_set
            or uplinks(place) & {*incident.tie_set}
            or (incident.confidence < 0.5)
        ), incident.component
        assert warned(incident)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("shape", "where"), [("two tiers", "any tor-spine link"), ("three tiers", "any tor-agg link")]
)
def test_when_routes_become_known_a_later_version_names_the_link(
    shape: str, where: str, seed: int
) -> None:
    place, found = story(shape, where, from_second(40), seed=seed, upto=80)
    first, last = found[0], last_versions(found)[-1]
    assert (first.kind, place in first.tie_set) == ("tor", False)
    assert (last.incident_id, last.component) == (first.incident_id, place)
    assert last.version > first.version
    assert last.confidence > first.confidence or len(last.tie_set) > 1


@pytest.mark.parametrize("seed", [5, 11])
def test_of_what_routes_leave_open_the_incident_names_what_more_routes_show(seed: int) -> None:
    place, found = story("three tiers", "any agg-spine link", from_second(40), seed=seed, upto=100)
    assert last_versions(found)[-1].component == place


def test_an_rnic_is_no_less_certain_because_routes_above_it_are_unknown() -> None:
    place, found = story("two tiers", "any rnic", never, seed=1, kind="rnic_port_down",
                         magnitude=1.0)  # fmt: skip
    (incident,) = last_versions(found)
    assert incident.tie_set[0] == place
    assert len(incident.tie_set) == 2, "the rnic and its cable"
    assert "warning" not in incident.evidence


@pytest.mark.parametrize("spec", [TWO_TIERS, THREE_TIERS])
def test_with_a_topology_no_verdict_warns_of_untraced_routes(spec: object) -> None:
    shape = next(name for name, each in SHAPES.items() if each is spec)
    for tracing in (never, sparsely):
        _, found = story(shape, "any tor", tracing, seed=0, document=True, kind="tor_loss")
        for incident in found:
            assert "warning" not in incident.evidence
            assert not [name for name in incident.tie_set if "?" in name]
