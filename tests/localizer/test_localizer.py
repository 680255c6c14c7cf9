"""The localizer as one object, on a cluster small enough to draw."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from builders.clusters import (
    FINE,
    START_S,
    Cluster,
    Message,
    Second,
    Weather,
    fine,
    newest,
    observe,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.errors import UnknownStrategy
from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from localizer.options import Options
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339

CLUSTER = Cluster(hosts=8)
QUIET_S = 10


def messages(weather: Weather, seconds: int = 30, *, windows: bool = False) -> list[Message]:
    out: list[Message] = []
    for at in range(seconds):
        *said, punctuation = CLUSTER.second(at, weather)
        out += said
        if windows and (at + 1) % 5 == 0:
            out.append(CLUSTER.window(at + 1, weather))
        out.append(punctuation)
    return out


def story(weather: Weather, seconds: int = 30, **options: object) -> list[Incident]:
    localizer = Localizer(topology=CLUSTER.topology, options=Options(**options))  # type: ignore[arg-type]
    found = observe(localizer, messages(weather, seconds)).incidents
    return newest(found + localizer.finish().incidents)


def broken(which: Callable[[Path], bool], what: Second, *, upto: int = 10**6) -> Weather:
    return lambda p, at: what if QUIET_S <= at < upto and which(p) else FINE


def tor(name: str) -> Callable[[Path], bool]:
    return lambda p: name in (p.src_asw, p.dst_asw)


# --- naming -----------------------------------------------------------------------------------

LOSSY, DEAD = Second(lost=1), Second(lost=4)


@pytest.mark.parametrize(
    ("which", "what", "component", "symptom"),
    [
        (tor("asw10"), LOSSY, "tor:asw10", "loss"),
        (tor("asw10"), DEAD, "tor:asw10", "unconnectivity"),
        (lambda p: "r3.1" in (p.src_real_ip, p.dst_real_ip), LOSSY, "rnic:r3.1", "loss"),
        (lambda p: "r3.1" in (p.src_real_ip, p.dst_real_ip), DEAD, "rnic:r3.1", "unconnectivity"),
        (lambda p: p.layer == "overlay" and "h3" in (p.src_node_sn, p.dst_node_sn), DEAD,
         "container:c3", "unconnectivity"),  # of its only container and its vswitch
        (lambda p: p.layer == "overlay" and "h3" in (p.src_node_sn, p.dst_node_sn), LOSSY,
         "vswitch:h3", "loss"),
        (lambda p: "h3" in (p.src_node_sn, p.dst_node_sn), LOSSY, "host:h3", "loss"),
    ],
)  # fmt: skip
def test_the_component_that_all_bad_paths_share_is_named(
    which: Callable[[Path], bool], what: Second, component: str, symptom: str
) -> None:
    (incident,) = story(broken(which, what))
    assert (incident.component, incident.symptom) == (component, symptom)
    assert incident.opened_at == rfc3339((START_S + QUIET_S) * 10**9)


def test_a_fault_is_detected_within_two_panes_and_the_lateness() -> None:
    (incident,) = story(broken(tor("asw10"), DEAD))
    assert incident.detected_at == rfc3339((START_S + QUIET_S + 2 + 2) * 10**9)


def test_the_evidence_is_something_a_person_understands() -> None:
    (incident,) = story(broken(tor("asw10"), DEAD), 20)
    assert str(incident.evidence["text"]).startswith(
        "176 of 176 bad paths cross tor:asw10; 0 of 272 good ones do; lets nothing through"
    )
    assert incident.evidence["source_hosts"] == 8
    assert incident.tie_set == ["tor:asw10"]
    assert (incident.severity, incident.jobs) == ("P0", ["job-1"])


def test_an_rnic_and_its_link_are_one_class_with_the_rnic_first() -> None:
    (incident,) = story(broken(lambda p: "r3.1" in (p.src_real_ip, p.dst_real_ip), DEAD))
    assert incident.tie_set == ["rnic:r3.1", "link:rnic:r3.1|tor:asw11"]


def test_two_causes_at_once_are_two_incidents() -> None:
    both = broken(lambda p: tor("asw10")(p) or "r7.1" in (p.src_real_ip, p.dst_real_ip), DEAD)
    assert {i.component for i in story(both)} == {"tor:asw10", "rnic:r7.1"}


def test_an_anomaly_is_written_for_each_bad_path_of_an_incident() -> None:
    localizer = Localizer(topology=CLUSTER.topology)
    found = observe(localizer, messages(broken(tor("asw10"), DEAD), 13))
    (incident,) = found.incidents
    assert {a.incident_id for a in found.anomalies} == {incident.incident_id}
    assert len(found.anomalies) == 176
    assert all((a.sent, a.lost, a.loss_rate) == (20, 8, 0.4) for a in found.anomalies), "5 s"


def test_an_incident_is_resolved_when_its_fault_is_over() -> None:
    (incident,) = story(broken(tor("asw10"), DEAD, upto=20), 45)
    assert incident.state == "resolved"
    closed_at = incident.closed_at or ""
    assert rfc3339((START_S + 20) * 10**9) <= closed_at <= rfc3339((START_S + 31) * 10**9)


def test_a_slow_tor_is_named_once_windows_have_a_past() -> None:
    slow = Second(rtt_us=60.0)
    weather: Weather = lambda p, at: slow if at >= 60 and tor("asw10")(p) else FINE  # noqa: E731
    localizer = Localizer(topology=CLUSTER.topology)
    found = observe(localizer, messages(weather, 90, windows=True)).incidents
    (incident,) = newest(found)
    assert (incident.component, incident.symptom) == ("tor:asw10", "high_latency")
    assert incident.evidence["effect"] == pytest.approx(40.0, abs=0.5)


def test_an_unknown_strategy_names_the_known_ones() -> None:
    with pytest.raises(UnknownStrategy, match="choose one of deepview, flock, hypothesis"):
        story(broken(tor("asw10"), DEAD), strategy="oracle")


# --- innocence --------------------------------------------------------------------------------


def test_nothing_lost_is_no_incident() -> None:
    assert story(fine, 120) == []


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=3)
def test_the_odd_lost_probe_is_no_incident(seed: int) -> None:
    rng = random.Random(seed)
    assert story(lambda p, at: Second(lost=int(rng.random() < 4e-4)), 60) == []


def test_one_lost_second_of_a_single_path_is_no_incident() -> None:
    assert story(lambda p, at: DEAD if (p.path_id, at) == (7, 15) else FINE) == []


NETWORK = ("rnic", "vswitch", "container", "tor", "agg", "spine", "link")


@given(st.integers(1, 8), st.integers(0, 2**32), st.sampled_from([0.02, 0.3, 1.0]))
@settings(deadline=None, max_examples=12)
def test_no_single_source_host_can_cause_a_network_blame(
    host: int, seed: int, share: float
) -> None:
    """Whatever one host says about the probes it sends, the network is not blamed for it."""
    rng = random.Random(seed)
    hurt = {p.path_id for p in CLUSTER.paths if rng.random() < rng.choice([0.2, 0.6, 1.0])}

    def lies(p: Path, at: int) -> Second:
        if p.src_node_sn != f"h{host}" or p.path_id not in hurt or rng.random() > share:
            return FINE
        return Second(lost=rng.randint(1, 4))

    found = story(lies, 25)
    assert [i.component for i in found if i.kind in NETWORK] == []
    assert {i.component for i in found} <= {f"host:h{host}"}


def test_trouble_that_only_one_host_sees_is_an_incident_of_that_host() -> None:
    (incident,) = story(broken(lambda p: p.src_node_sn == "h3", DEAD))
    assert (incident.component, incident.layer) == ("host:h3", "host")
    assert "only h3 sees it" in str(incident.evidence["text"])


def test_the_number_of_witnesses_is_an_option() -> None:
    seen = broken(lambda p: tor("asw10")(p) and p.src_node_sn in ("h1", "h2", "h3"), DEAD)
    assert {i.kind for i in story(seen, observers=4)} <= {"host"}


# --- the same messages, the same incidents ----------------------------------------------------

TROUBLE: Weather = lambda p, at: (  # noqa: E731
    DEAD if 10 <= at < 25 and tor("asw10")(p)
    else LOSSY if at >= 40 and "r7.1" in (p.src_real_ip, p.dst_real_ip)
    else FINE
)  # fmt: skip
WHOLE = messages(TROUBLE, 75, windows=True)


def documents(said: list[Message], localizer: Localizer | None = None) -> list[Incident]:
    one = localizer or Localizer(topology=CLUSTER.topology)
    return observe(one, said).incidents


def test_a_replay_is_exact() -> None:
    first = documents(WHOLE)
    assert [(i.component, i.state) for i in newest(first)] == [
        ("tor:asw10", "resolved"), ("rnic:r7.1", "ongoing"),
    ]  # fmt: skip
    assert msgspec.json.encode(documents(WHOLE)) == msgspec.json.encode(first)


def test_messages_that_come_twice_change_nothing() -> None:
    twice = [m for n in range(0, len(WHOLE), 12) for m in WHOLE[n : n + 12] * 2]
    assert documents(twice) == documents(WHOLE)


def core(found: list[Incident]) -> list[tuple[object, ...]]:
    return [
        (i.incident_id, i.component, i.symptom, i.state, i.opened_at, i.detected_at, i.closed_at)
        for i in newest(found)
    ]


@pytest.mark.parametrize("cut", [*range(20, len(WHOLE), 31)])
def test_a_restart_in_mid_stream_finds_what_an_undisturbed_run_finds(cut: int) -> None:
    before = documents(WHOLE[:cut])
    after = Localizer(topology=CLUSTER.topology)
    after.restore(newest(before))
    assert core(before + documents(WHOLE, after)) == core(documents(WHOLE))


def test_a_restart_writes_no_document_twice() -> None:
    before = documents(WHOLE)
    after = Localizer(topology=CLUSTER.topology)
    after.restore(newest(before))
    assert documents(WHOLE, after) == []


def test_paths_that_no_host_probes_any_more_are_dropped() -> None:
    hour_2 = Cluster(hosts=8)
    hour_2.paths = [p._replace(src_port=p.src_port + 9, path_id=p.path_id + 9999) for p in
                    hour_2.paths]  # fmt: skip
    localizer = Localizer(topology=CLUSTER.topology)
    observe(localizer, CLUSTER.second(0))
    assert localizer.paths == len(CLUSTER.paths)
    for at in range(1, 1100, 5):
        observe(localizer, hour_2.second(at))
    assert localizer.paths == len(hour_2.paths)


def test_windows_before_and_after_a_silent_stretch_are_not_compared() -> None:
    slow = Second(rtt_us=90.0)
    weather: Weather = lambda p, at: slow if at >= 600 and tor("asw10")(p) else FINE  # noqa: E731
    said = messages(weather, 60, windows=True)
    localizer = Localizer(topology=CLUSTER.topology)
    observe(localizer, said)
    for at in np.arange(600, 660).tolist():
        *more, punctuation = CLUSTER.second(at, weather)
        if (at + 1) % 5 == 0:
            more.append(CLUSTER.window(at + 1, weather))
        assert observe(localizer, [*more, punctuation]).incidents == []
