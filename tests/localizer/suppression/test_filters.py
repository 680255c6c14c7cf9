"""Paths that are not judged, verdicts that are not reported, and the suppression log of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from builders.clusters import FINE, START_S, Cluster, Second, Weather, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from localizer.suppression.log import Cause, Suppressed
from localizer.suppression.placement import Placements
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import State
from schemas.documents.times import rfc3339

CLUSTER = Cluster(hosts=8)
DEAD = Second(lost=4)


def at(second: float) -> str:
    return rfc3339(int((START_S + second) * 1e9))


def placed(state: State, since: float, box: str = "c3", host: str = "h3") -> Placement:
    return Placement(node_id=box, node_sn=host, state=state, valid_from=at(since), fabric="f1")


def maintenance(
    component: str, start: float, end: float, reason: str = "new optics"
) -> Maintenance:
    return Maintenance(
        component=component, start=at(start), until=at(end), reason=reason, fabric="f1"
    )


def broken(which: Callable[[Path], bool], first: int = 10, last: int = 10**6) -> Weather:
    return lambda p, second: DEAD if first <= second < last and which(p) else FINE


def box(name: str) -> Callable[[Path], bool]:
    return lambda p: p.layer == "overlay" and name in (p.src_node_id, p.dst_node_id)


def tor(name: str) -> Callable[[Path], bool]:
    return lambda p: name in (p.src_asw, p.dst_asw)


def story(
    weather: Weather, seconds: int = 30, *documents: Placement | Maintenance
) -> tuple[list[Incident], list[Suppressed]]:
    localizer = Localizer(topology=CLUSTER.topology)
    return _reported(localizer, weather, seconds, documents), localizer.suppressed


def counts(
    weather: Weather, seconds: int, *documents: Placement | Maintenance
) -> tuple[list[Suppressed], dict[Cause, int]]:
    localizer = Localizer(topology=CLUSTER.topology)
    _reported(localizer, weather, seconds, documents)
    return localizer.suppressed, localizer.suppressed_s


def _reported(
    localizer: Localizer,
    weather: Weather,
    seconds: int,
    documents: Sequence[Placement | Maintenance],
) -> list[Incident]:
    localizer.place(d for d in documents if isinstance(d, Placement))
    localizer.maintain(d for d in documents if isinstance(d, Maintenance))
    found = [
        i for s in range(seconds) for i in observe(localizer, CLUSTER.second(s, weather)).incidents
    ]
    return newest(found + localizer.finish().incidents)


# --- placement --------------------------------------------------------------------------------


def test_a_container_that_loses_everything_is_an_incident() -> None:
    (incident,), _ = story(broken(box("c3")))
    assert "container:c3" in incident.tie_set


@pytest.mark.parametrize("state", ["starting", "draining", "gone"])
def test_a_container_that_is_not_ready_is_not_judged_and_the_log_says_why(state: State) -> None:
    found, log = story(broken(box("c3")), 30, placed(state, 5))
    assert found == []
    (line,) = log
    assert (line.component, line.reason) == ("container:c3", f"it is {state}")
    assert (line.first_s, line.seconds) == (START_S + 10, 20)


def test_losses_of_a_starting_container_do_not_count_once_it_is_ready() -> None:
    found, _ = story(broken(box("c3"), 0, 20), 40, placed("starting", 0), placed("ready", 20))
    assert found == []


def test_a_container_is_judged_once_it_is_ready() -> None:
    (incident,), _ = story(broken(box("c3")), 30, placed("starting", 0), placed("ready", 12))
    assert incident.opened_at >= at(12)


def test_the_host_of_a_draining_container_is_judged() -> None:
    (incident,), _ = story(
        broken(lambda p: "r3.1" in (p.src_real_ip, p.dst_real_ip)), 30, placed("draining", 0)
    )
    assert incident.component == "rnic:r3.1"


def test_probes_to_the_former_host_of_a_container_are_not_judged() -> None:
    found, log = story(broken(box("c3")), 30, placed("ready", 0), placed("ready", 8, host="h9"))
    assert found == []
    assert [line.reason for line in log] == ["it has moved to h9"]


def test_a_move_to_an_unknown_host_adds_no_host() -> None:
    localizer = Localizer(topology=CLUSTER.topology)
    localizer.place([placed("ready", 0), placed("ready", 8, host="h9")])
    beats = [{"node_sn": f"h{n}"} for n in range(1, 9)]
    for s in range(15):  # h8's heartbeats stop before the move
        observe(localizer, CLUSTER.second(s, beats=beats if s < 4 else beats[:-1]))
    assert localizer.hosts == 8


def test_placements_may_come_in_any_order_and_after_their_time() -> None:
    placements = Placements()
    placements.add([placed("ready", 20), placed("starting", 10)])
    assert placements.unready(START_S + 15) == {"c3": ("h3", "starting")}
    assert placements.unready(START_S + 19) == {"c3": ("h3", "starting")}
    assert placements.unready(START_S + 21) == {}


def test_containers_gone_long_ago_are_dropped() -> None:
    placements = Placements()
    placements.add([placed("ready", 0), placed("gone", 10), placed("ready", 0, "c4", "h4")])
    placements.drop_old(START_S + 5000)
    assert len(placements) == 1


# --- maintenance ------------------------------------------------------------------------------


def test_a_component_under_maintenance_is_no_incident_and_the_log_says_why() -> None:
    found, log = story(broken(tor("asw10")), 30, maintenance("tor:asw10", 0, 100))
    assert found == []
    (line,) = log
    assert line.component == "tor:asw10"
    assert line.reason == "tor:asw10 is under maintenance: new optics"


def test_a_fault_that_outlasts_its_maintenance_is_reported() -> None:
    (incident,), _ = story(broken(tor("asw10")), 40, maintenance("tor:asw10", 0, 20))
    assert incident.component == "tor:asw10"
    assert incident.detected_at >= at(20)


def test_maintenance_of_a_host_covers_its_components() -> None:
    rnic = broken(lambda p: "r3.1" in (p.src_real_ip, p.dst_real_ip))
    assert story(rnic, 30, maintenance("host:h3", 0, 100))[0] == []
    assert story(rnic, 30, maintenance("fabric:f1", 0, 100))[0] == []
    assert len(story(rnic, 30, maintenance("host:h4", 0, 100))[0]) == 1


def test_maintenance_of_the_fabric_covers_its_switches() -> None:
    assert story(broken(tor("asw10")), 30, maintenance("fabric:f1", 0, 100))[0] == []


def test_the_newest_document_of_a_maintenance_counts() -> None:
    early = maintenance("tor:asw10", 0, 100), maintenance("tor:asw10", 0, 15)
    (incident,), _ = story(broken(tor("asw10")), 30, *early)
    assert incident.detected_at >= at(15)
    late = maintenance("tor:asw10", 0, 15), maintenance("tor:asw10", 0, 100)
    assert story(broken(tor("asw10")), 30, *late)[0] == []


def test_maintenance_of_another_component_suppresses_nothing() -> None:
    (incident,), log = story(broken(tor("asw10")), 30, maintenance("tor:asw21", 0, 100))
    assert incident.component == "tor:asw10"
    assert log == []


def test_maintenance_of_another_fabric_suppresses_nothing() -> None:
    other = Maintenance(component="tor:asw10", start=at(0), until=at(99), reason="x", fabric="f2")
    assert len(story(broken(tor("asw10")), 30, other)[0]) == 1


def test_suppressed_seconds_are_counted_by_their_cause() -> None:
    weather = broken(lambda p: tor("asw10")(p) or box("c7")(p))
    log, suppressed = counts(weather, 30, maintenance("tor:asw10", 0, 100), placed("gone", 0, "c7"))
    of = {line.component: line.seconds for line in log}
    assert suppressed == {"maintenance": of["tor:asw10"], "placement": of["container:c7"]}
    assert min(suppressed.values()) > 5


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"component": "router:r1"}, "is no component id"),
        ({"reason": " "}, "say why"),
        ({"until": "2026-01-01T00:00:00Z"}, "is not before"),
        ({"until": "tomorrow"}, "is not RFC 3339"),
        ({"until": "2027-01-01T00:00:00"}, "append Z"),
    ],
)
def test_an_invalid_maintenance_document_is_refused(change: dict[str, str], what: str) -> None:
    fields = {
        "component": "tor:a1", "start": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z",
        "reason": "optics",
    } | change  # fmt: skip
    with pytest.raises(ValueError, match=what):
        Maintenance(**fields)
