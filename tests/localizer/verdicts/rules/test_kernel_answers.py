"""Probes that kernels answer (TCP, ICMP): what they say of a host whose agent is silent."""

from __future__ import annotations

import pytest
from builders.clusters import FINE, START_S, Cluster, Second, Weather, newest, observe, path

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

HOST = "h2"
DEAD, REFUSED = Second(lost=4), Second(refused=4)
ALIVE = [f"h{n}" for n in range(1, 7)]
BREAKS_AT = 12
AGENT_DOWN = {(f"agent:{HOST}", "agent_down")}
HOST_DOWN = {(f"host:{HOST}", "host_down")}


def cluster(*tasks: str) -> Cluster:
    """Every pair of rnics is probed by these engines."""
    made = Cluster()
    made.paths = [
        path(a, b, port=50_000, number=0, task=task, to_port=65_301)
        for task in tasks
        for a in made.ends
        for b in made.ends
        if a.host != b.host and a.rnic[-1] == b.rnic[-1]
    ]
    made.paths = [each._replace(path_id=n) for n, each in enumerate(made.paths)]
    return made


def story(
    made: Cluster, weather: Weather, beats: list[str], before: list[str], mute: str = ""
) -> list[Incident]:
    """Incidents; all is fine until BREAKS_AT.

    beats, before  hosts with heartbeats, from then on and until then
    mute           a host that never probes
    """

    def fine(p: Path, at: int) -> Second | None:
        return None if p.src_node_sn == mute else FINE

    localizer, found = Localizer(topology=made.topology), []
    for at in range(BREAKS_AT + 10):
        now = weather if at >= BREAKS_AT else fine
        said = [{"node_sn": n} for n in (beats if at >= BREAKS_AT else before)]
        found += observe(localizer, made.second(at, now, beats=said)).incidents
    return newest(found)


def gone(**by_task: Second) -> Weather:
    """The host sends nothing; what probes to it meet, by engine."""

    def weather(p: Path, at: int) -> Second | None:
        if p.src_node_sn == HOST:
            return None
        return by_task[p.task_type.removesuffix("_PING")] if p.dst_node_sn == HOST else FINE

    return weather


def named(incidents: list[Incident]) -> set[tuple[str, str]]:
    return {(i.component, i.symptom) for i in incidents if i.parent is None}


OTHERS = [n for n in ALIVE if n != HOST]


@pytest.mark.parametrize("task", ["TCP", "ICMP"])
def test_an_agent_is_down_when_it_is_silent_and_its_kernel_answers(task: str) -> None:
    """A firewall drops what would refuse the UDP probes."""
    made = cluster("UDP_PING", f"{task}_PING")
    (incident,) = story(made, gone(UDP=DEAD, **{task: FINE}), OTHERS, ALIVE)
    assert (incident.component, incident.symptom) == (f"agent:{HOST}", "agent_down")
    assert "its kernel answers the probes of 5 hosts" in str(incident.evidence["text"])


def test_an_agent_that_dies_just_after_a_heartbeat_is_no_lossy_host_first() -> None:
    """Its timeouts fill more than a second before its heartbeat is late."""
    made = cluster("UDP_PING", "TCP_PING")
    localizer, found = Localizer(topology=made.topology), []

    def weather(p: Path, at: int) -> Second | None:
        if at < BREAKS_AT or p.task_type == "TCP_PING":
            return FINE if at <= BREAKS_AT or p.src_node_sn != HOST else None
        if p.src_node_sn == HOST:
            return Second(sent=2) if at == BREAKS_AT else None
        dies = Second(lost=2) if at == BREAKS_AT else DEAD
        return dies if p.dst_node_sn == HOST else FINE

    for at in range(BREAKS_AT + 10):
        beats = [{"node_sn": n} for n in OTHERS]
        if at <= BREAKS_AT:
            last_s = START_S + at + 0.45
            beats.append({"node_sn": HOST, "time": int(last_s * 1e9)})
        found += observe(localizer, made.second(at, weather, beats=beats)).incidents
    assert named(newest(found)) == AGENT_DOWN


@pytest.mark.parametrize(
    ("udp", "tcp", "verdict"),
    [
        (REFUSED, FINE, AGENT_DOWN),
        (DEAD, DEAD, HOST_DOWN),
        (FINE, FINE, set()),  # its agent answers: only the heartbeats are lost
    ],
)
def test_answers_of_kernels_follow_the_decision_table_of_silence(
    udp: Second, tcp: Second, verdict: set[tuple[str, str]]
) -> None:
    made = cluster("UDP_PING", "TCP_PING")
    assert named(story(made, gone(UDP=udp, TCP=tcp), OTHERS, ALIVE)) == verdict


def test_a_host_that_goes_on_probing_is_not_down_because_its_kernel_answers() -> None:
    made = cluster("TCP_PING")
    assert named(story(made, lambda p, at: FINE, OTHERS, ALIVE)) == set()


@pytest.mark.parametrize("before", [OTHERS, []], ids=["heartbeats", "no heartbeats"])
def test_a_host_without_an_agent_is_not_silent_and_its_rnic_is_judged(before: list[str]) -> None:
    made = cluster("TCP_PING")

    def first_rnic_dies(p: Path, at: int) -> Second | None:
        if p.src_node_sn == HOST:
            return None
        return DEAD if p.dst_real_ip == f"r{HOST[1:]}.0" else FINE

    found = story(made, first_rnic_dies, before, before, mute=HOST)
    assert named(found) == {(f"rnic:r{HOST[1:]}.0", "unconnectivity")}
