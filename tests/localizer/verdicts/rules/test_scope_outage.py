"""Many hosts fall silent at once: one incident, not one a host."""

from __future__ import annotations

from typing import Any

from builders.clusters import FINE, START_S, Cluster, Message, Second, newest, observe, punctuation

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from localizer.options import Options, Retention
from localizer.verdicts.parameters import ScopeOutageParameters
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.times import rfc3339

#  h1..h4 in pod east, h5..h8 in pod west
CLUSTER = Cluster(hosts=8, rails=1)
EAST = {f"h{n}" for n in range(1, 5)}


def pod(host: str) -> str:
    return "east" if host in EAST else "west"


CLUSTER.paths = [
    p._replace(src_pod=pod(p.src_node_sn), dst_pod=pod(p.dst_node_sn)) for p in CLUSTER.paths
]


def at(second: float) -> str:
    return rfc3339(int((START_S + second) * 1e9))


def second(now: int, gone: dict[str, float], refused: bool = False) -> list[Message]:
    """Hosts that are gone neither beat nor probe; probes to them are lost, or refused."""
    off = {host for host, since in gone.items() if now >= since}

    def weather(p: Path, _: int) -> Second | None:
        if p.src_node_sn in off:
            return None
        if p.dst_node_sn in off:
            return Second(refused=4) if refused else Second(lost=4)
        return FINE

    beats: list[dict[str, Any]] = [{"node_sn": f"h{n}"} for n in range(1, 9) if f"h{n}" not in off]
    return CLUSTER.second(now, weather, beats=beats)


def story(gone: dict[str, float], seconds: int = 30, **how: Any) -> list[Incident]:
    localizer = Localizer()
    found = [
        i for s in range(seconds) for i in observe(localizer, second(s, gone, **how)).incidents
    ]
    return newest(found)


def test_a_pod_that_loses_power_is_one_incident() -> None:
    (incident,) = story(dict.fromkeys(EAST, 10))
    assert (incident.component, incident.kind, incident.symptom) == (
        "pod:east", "pod", "host_down",
    )  # fmt: skip
    assert incident.evidence["hosts"] == 4
    assert "4 hosts of pod:east fell silent at once" in str(incident.evidence["text"])
    assert at(9) <= incident.opened_at <= at(11)
    assert incident.detected_at <= at(18)


def test_a_pod_whose_agents_were_all_stopped_is_one_incident_about_agents() -> None:
    (incident,) = story(dict.fromkeys(EAST, 10), refused=True)
    assert (incident.component, incident.symptom, incident.layer) == (
        "pod:east", "agent_down", "agent",
    )  # fmt: skip


def test_a_silent_pod_that_no_host_probes_any_more_is_remembered() -> None:
    localizer = Localizer(options=Options(retention=Retention(every_s=10, unheard_s=40)))
    found = []
    beats: list[dict[str, Any]] = [{"node_sn": f"h{n}"} for n in range(5, 9)]

    def west(p: Path, _: int) -> Second | None:
        return None if {p.src_node_sn, p.dst_node_sn} & EAST else FINE

    for s in range(120):
        dying = s < 25
        said = second(s, dict.fromkeys(EAST, 10)) if dying else CLUSTER.second(s, west, beats=beats)
        found += observe(localizer, said).incidents
    assert localizer.hosts == 8
    (incident,) = newest(found)
    assert (incident.component, incident.state == "resolved") == ("pod:east", False)


def test_one_silent_host_is_an_incident_of_the_host() -> None:
    (incident,) = story({"h2": 10})
    assert incident.component == "host:h2"


def test_hosts_that_fell_silent_before_their_pod_become_children_of_its_incident() -> None:
    found = {i.component: i for i in story({"h2": 10, "h1": 20, "h3": 20, "h4": 20}, 40)}
    assert set(found) == {"host:h2", "pod:east"}
    assert found["host:h2"].parent == found["pod:east"].incident_id


def test_a_pod_outage_is_over_when_half_of_its_hosts_are_back() -> None:
    localizer = Localizer()
    found = [
        i
        for s in range(60)
        for i in observe(localizer, second(s, dict.fromkeys(EAST, 10) if s < 30 else {})).incidents
    ]
    (incident,) = newest(found)
    assert (incident.state, incident.component) == ("resolved", "pod:east")


def test_hosts_that_fall_silent_one_by_one_are_incidents_of_their_own() -> None:
    gone = {"h1": 10.0, "h2": 40.0, "h3": 70.0}
    assert {i.component for i in story(gone, 80)} == {"host:h1", "host:h2", "host:h3"}


def test_hosts_that_said_goodbye_are_not_missed() -> None:
    localizer = Localizer()
    found = [i for s in range(10) for i in observe(localizer, second(s, {})).incidents]
    farewell = [{"node_sn": host, "alive": False} for host in EAST]
    observe(localizer, CLUSTER.second(10, lambda p, _: None, beats=farewell)[:1])
    for s in range(10, 30):
        found += observe(localizer, second(s, dict.fromkeys(EAST, 10), refused=True)).incidents
    assert "pod:east" not in {i.component for i in found}


def test_hosts_that_answer_others_are_not_silent_though_their_reports_are_late() -> None:
    localizer = Localizer()
    found: list[Incident] = []
    for s in range(40):
        off = EAST if s >= 10 else set()
        beats = [{"node_sn": f"h{n}"} for n in range(1, 9) if f"h{n}" not in off]
        late = CLUSTER.second(
            s, lambda p, _, off=off: None if p.src_node_sn in off else FINE, beats=beats
        )
        found += observe(localizer, late).incidents
    assert found == []


# --- the whole fabric -------------------------------------------------------------------------


def fall_silent(localizer: Localizer, now: int) -> list[Incident]:
    """Every partition is idle, and no message has come for long."""
    header = punctuation(START_S + now, idle=True)
    assert localizer.observe(header, None, b"{}").incidents == []
    return localizer.report_silence().incidents


def test_a_fabric_that_falls_silent_as_a_whole_is_one_incident() -> None:
    localizer = Localizer()
    for s in range(20):
        observe(localizer, second(s, {}))
    (incident,) = fall_silent(localizer, 20)
    assert (incident.component, incident.symptom) == ("fabric:f1", "agent_down")
    assert incident.evidence["hosts"] == 8
    assert incident.detected_at >= at(20 + ScopeOutageParameters().unseen_s), (
        "that long is waited for a sign of life"
    )
    assert fall_silent(localizer, 20) == [], "reported once"


def test_a_fabric_outage_ends_when_probes_come_again() -> None:
    localizer = Localizer()
    for s in range(20):
        observe(localizer, second(s, {}))
    found = fall_silent(localizer, 20)
    for s in range(300, 320):
        found += observe(localizer, second(s, {})).incidents
    (incident,) = newest(found)
    assert incident.state == "resolved"
    assert incident.closed_at is not None
    assert incident.closed_at >= at(300), "not when the last word was heard"


def test_agents_that_send_heartbeats_but_do_not_probe_are_no_incident() -> None:
    localizer = Localizer()
    for s in range(20):
        observe(localizer, second(s, {}))
    for s in range(20, 32):
        observe(localizer, CLUSTER.second(s, lambda p, _: None)[:1])
    assert fall_silent(localizer, 20) == []


def test_a_fabric_without_heartbeats_that_stops_probing_is_no_incident() -> None:
    localizer = Localizer()
    for s in range(20):
        observe(localizer, CLUSTER.second(s, beats=[]))
    assert fall_silent(localizer, 20) == []


def test_a_fabric_is_not_silent_while_one_of_its_partitions_is_not_idle() -> None:
    localizer = Localizer()
    for s in range(20):
        observe(localizer, second(s, {}))
    assert localizer.report_silence().incidents == []


def test_a_fabric_under_maintenance_may_fall_silent() -> None:
    localizer = Localizer()
    whole = Maintenance(
        component="fabric:f1", start=at(0), until=at(3600), reason="moving", fabric="f1"
    )
    localizer.maintain([whole])
    for s in range(20):
        observe(localizer, second(s, {}))
    assert fall_silent(localizer, 20) == []
    assert [each.component for each in localizer.suppressed] == ["fabric:f1"]


def test_a_pod_whose_reports_are_late_is_not_silent_while_it_answers_some_probes() -> None:
    def weather(p: Path, now: int) -> Second | None:
        if p.src_node_sn in EAST and now >= 10:
            return None
        if p.dst_node_sn in EAST and p.src_node_sn == "h5":
            return Second(lost=4)  # one of its peers has a way in that is broken
        return FINE

    localizer, found = Localizer(), []
    for s in range(25):
        beats = [{"node_sn": f"h{n}"} for n in range(1, 9) if s < 10 or f"h{n}" not in EAST]
        found += observe(localizer, CLUSTER.second(s, weather, beats=beats)).incidents
    assert "pod:east" not in {i.component for i in found}
