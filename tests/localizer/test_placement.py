"""What is not judged, what is not told, and that both are accounted for."""

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
from schemas.documents.placement import Placement, State
from schemas.documents.times import rfc3339

CLUSTER = Cluster(hosts=8)
DEAD = Second(lost=4)


def at(second: float) -> str:
    return rfc3339(int((START_S + second) * 1e9))


def placed(state: State, since: float, box: str = "c3", host: str = "h3") -> Placement:
    return Placement(node_id=box, node_sn=host, state=state, valid_from=at(since), fabric="f1")


def work(component: str, start: float, end: float, reason: str = "new optics") -> Maintenance:
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
    return _told(localizer, weather, seconds, documents), localizer.suppressed


def counts(
    weather: Weather, seconds: int, *documents: Placement | Maintenance
) -> tuple[list[Suppressed], dict[Cause, int]]:
    localizer = Localizer(topology=CLUSTER.topology)
    _told(localizer, weather, seconds, documents)
    return localizer.suppressed, localizer.suppressed_s


def _told(
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
def test_one_that_is_not_ready_is_not_judged_and_the_account_says_why(state: State) -> None:
    found, account = story(broken(box("c3")), 30, placed(state, 5))
    assert found == []
    (line,) = account
    assert (line.component, line.reason) == ("container:c3", f"it is {state}")
    assert (line.first_s, line.seconds) == (START_S + 10, 20)


def test_what_it_lost_while_it_started_is_not_held_against_it() -> None:
    found, _ = story(broken(box("c3"), 0, 20), 40, placed("starting", 0), placed("ready", 20))
    assert found == []


def test_once_ready_it_is_judged() -> None:
    (incident,), _ = story(broken(box("c3")), 30, placed("starting", 0), placed("ready", 12))
    assert incident.opened_at >= at(12)


def test_its_host_is_judged_all_the_time() -> None:
    (incident,), _ = story(
        broken(lambda p: "r3.1" in (p.src_real_ip, p.dst_real_ip)), 30, placed("draining", 0)
    )
    assert incident.component == "rnic:r3.1"


def test_where_it_has_moved_away_from_nothing_is_expected() -> None:
    found, account = story(broken(box("c3")), 30, placed("ready", 0), placed("ready", 8, host="h9"))
    assert found == []
    assert [line.reason for line in account] == ["it has moved to h9"]


def test_a_move_to_a_host_that_nobody_has_heard_of_disturbs_nobody() -> None:
    localizer = Localizer(topology=CLUSTER.topology)
    localizer.place([placed("ready", 0), placed("ready", 8, host="h9")])
    beats = [{"node_sn": f"h{n}"} for n in range(1, 9)]
    for s in range(15):  # h8's heartbeats stop before the move
        observe(localizer, CLUSTER.second(s, beats=beats if s < 4 else beats[:-1]))
    assert localizer.hosts == 8


def test_documents_may_come_in_any_order_and_after_their_time() -> None:
    book = Placements()
    book.add([placed("ready", 20), placed("starting", 10)])
    assert book.unready(START_S + 15) == {"c3": ("h3", "starting")}
    assert book.unready(START_S + 19) == {"c3": ("h3", "starting")}
    assert book.unready(START_S + 21) == {}


def test_what_was_long_ago_is_forgotten() -> None:
    book = Placements()
    book.add([placed("ready", 0), placed("gone", 10), placed("ready", 0, "c4", "h4")])
    book.drop_old(START_S + 5000)
    assert len(book) == 1


# --- maintenance ------------------------------------------------------------------------------


def test_what_is_being_worked_on_is_no_incident_and_the_account_says_why() -> None:
    found, account = story(broken(tor("asw10")), 30, work("tor:asw10", 0, 100))
    assert found == []
    (line,) = account
    assert line.component == "tor:asw10"
    assert line.reason == "tor:asw10 is under maintenance: new optics"


def test_when_the_work_is_over_and_the_fault_is_not_it_is_told() -> None:
    (incident,), _ = story(broken(tor("asw10")), 40, work("tor:asw10", 0, 20))
    assert incident.component == "tor:asw10"
    assert incident.detected_at >= at(20)


def test_work_on_a_host_covers_what_is_in_it() -> None:
    rnic = broken(lambda p: "r3.1" in (p.src_real_ip, p.dst_real_ip))
    assert story(rnic, 30, work("host:h3", 0, 100))[0] == []
    assert story(rnic, 30, work("fabric:f1", 0, 100))[0] == []
    assert len(story(rnic, 30, work("host:h4", 0, 100))[0]) == 1


def test_work_on_the_fabric_covers_its_switches_too() -> None:
    assert story(broken(tor("asw10")), 30, work("fabric:f1", 0, 100))[0] == []


def test_the_last_word_on_when_work_ends_counts() -> None:
    early = work("tor:asw10", 0, 100), work("tor:asw10", 0, 15)
    (incident,), _ = story(broken(tor("asw10")), 30, *early)
    assert incident.detected_at >= at(15)
    late = work("tor:asw10", 0, 15), work("tor:asw10", 0, 100)
    assert story(broken(tor("asw10")), 30, *late)[0] == []


def test_work_elsewhere_hides_nothing() -> None:
    (incident,), account = story(broken(tor("asw10")), 30, work("tor:asw21", 0, 100))
    assert incident.component == "tor:asw10"
    assert account == []


def test_work_on_another_fabric_hides_nothing() -> None:
    other = Maintenance(component="tor:asw10", start=at(0), until=at(99), reason="x", fabric="f2")
    assert len(story(broken(tor("asw10")), 30, other)[0]) == 1


def test_what_is_not_told_is_counted_by_its_cause() -> None:
    weather = broken(lambda p: tor("asw10")(p) or box("c7")(p))
    account, suppressed = counts(weather, 30, work("tor:asw10", 0, 100), placed("gone", 0, "c7"))
    of = {line.component: line.seconds for line in account}
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
def test_a_document_that_cannot_be_meant_is_refused(change: dict[str, str], what: str) -> None:
    fields = {
        "component": "tor:a1", "start": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z",
        "reason": "optics",
    } | change  # fmt: skip
    with pytest.raises(ValueError, match=what):
        Maintenance(**fields)
