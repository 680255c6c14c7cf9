"""The decision table of silence: what is to blame when a host does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from builders.clusters import FINE, START_S, Cluster, Second, Weather, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from localizer.options import Options, Retention
from schemas.documents.incident import Incident

CLUSTER = Cluster()  # 6 hosts x 2 rnics
HOST = "h2"
BREAKS_AT = 12
LASTS = 14
DEAD, REFUSED = Second(lost=4), Second(refused=4)
DEAD_AGENT = {f"h{n}": {} for n in range(1, 7) if f"h{n}" != HOST}
ALIVE: dict[str, dict[str, Any]] = {f"h{n}": {} for n in range(1, 7)}
STARVED = {**ALIVE, HOST: {"cpu_steal": 0.6}}
LATE_TIMERS = {**ALIVE, HOST: {"scheduling_delay_us": 250_000.0}}
BUSY = {**ALIVE, HOST: {"scheduling_delay_us": 60_000.0, "cpu_steal": 0.2}}
SAYS_GOODBYE = {**ALIVE, HOST: {"alive": False}}
NO_BEATS: dict[str, dict[str, Any]] = {}


def towards(host: str, what: Second, which: Callable[[Path], bool] = lambda _: True) -> Weather:
    """Probes to that host meet ``what``; its own are sent and fine."""
    return lambda p, _: what if p.dst_node_sn == host and which(p) else FINE


def gone(host: str, what: Second, which: Callable[[Path], bool] = lambda _: True) -> Weather:
    """The same, and the host sends nothing itself."""

    def weather(p: Path, at: int) -> Second | None:
        return None if p.src_node_sn == host else towards(host, what, which)(p, at)

    return weather


def both_ways(host: str, what: Second, which: Callable[[Path], bool]) -> Weather:
    return lambda p, _: what if host in (p.src_node_sn, p.dst_node_sn) and which(p) else FINE


def first_rnic(p: Path) -> bool:
    return p.src_real_ip.endswith(".0")


def underlay(p: Path) -> bool:
    return p.layer == "underlay"


def reported(
    weather: Weather, beats: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]] = ALIVE
) -> list[Incident]:
    """Incidents of a story: fine until BREAKS_AT, then as given."""
    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(BREAKS_AT + LASTS):
        broken = at >= BREAKS_AT
        said = [{"node_sn": n, **more} for n, more in (beats if broken else before).items()]
        now = weather if broken else (lambda p, at: FINE)
        found += observe(localizer, CLUSTER.second(at, now, beats=said)).incidents
    return newest(found)


def names(incidents: list[Incident]) -> set[tuple[str, str]]:
    return {(i.component, i.symptom) for i in incidents if i.parent is None}


AGENT_DOWN = {(f"agent:{HOST}", "agent_down")}
HOST_DOWN = {(f"host:{HOST}", "host_down")}
STARVING = {(f"agent:{HOST}", "agent_starved")}
RNIC_DOWN = {("rnic:r2.0", "unconnectivity")}
BOX_DOWN = {(f"container:{HOST.replace('h', 'c')}", "unconnectivity")}


@pytest.mark.parametrize(
    ("beats", "weather", "verdict"),
    [
        # heartbeat    what probes meet                                        verdict
        (ALIVE, both_ways(HOST, DEAD, first_rnic), RNIC_DOWN),
        (ALIVE, both_ways(HOST, DEAD, lambda p: not underlay(p)), BOX_DOWN),
        (ALIVE, towards(HOST, FINE), set()),
        (DEAD_AGENT, gone(HOST, REFUSED), AGENT_DOWN),
        (DEAD_AGENT, gone(HOST, REFUSED, underlay), AGENT_DOWN),
        (SAYS_GOODBYE, gone(HOST, REFUSED), AGENT_DOWN),
        (DEAD_AGENT, gone(HOST, DEAD), HOST_DOWN),
        (DEAD_AGENT, gone(HOST, DEAD, first_rnic), set()),  # the other rnic answers
        (DEAD_AGENT, gone(HOST, DEAD, underlay), set()),  # the other layer answers
        (DEAD_AGENT, gone(HOST, FINE), set()),  # only the heartbeats are lost
        (STARVED, both_ways(HOST, Second(lost=2), lambda p: True), STARVING),
        (LATE_TIMERS, both_ways(HOST, Second(lost=2), lambda p: True), STARVING),
        (STARVED, towards(HOST, FINE), set()),  # its threads wait, its timers do not
        (LATE_TIMERS, towards(HOST, FINE), STARVING),  # no probe is lost
        (BUSY, towards(HOST, FINE), set()),
    ],
)
def test_the_decision_table_of_silence_names_the_culprit(
    beats: dict[str, dict[str, Any]], weather: Weather, verdict: set[tuple[str, str]]
) -> None:
    assert names(reported(weather, beats)) == verdict


@pytest.mark.parametrize("ahead_s", [0, 2, 4])
def test_an_agent_that_starts_after_the_others_is_not_down_before(ahead_s: int) -> None:
    """Its first heartbeats are known when the seconds before them are judged."""
    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(30):
        down = at < BREAKS_AT
        weather = gone(HOST, REFUSED) if down else (lambda p, at: FINE)
        time_ns = int((START_S + at + ahead_s + 0.9) * 1e9)
        heard = ALIVE if at + ahead_s >= BREAKS_AT else DEAD_AGENT
        beats = [{"node_sn": n, "time": time_ns} for n in heard]
        second = CLUSTER.second(at, weather, beats=beats)
        found += observe(localizer, second).incidents
    assert names(newest(found)) == set()


def late_in(seconds: set[int], until: int) -> list[Incident]:
    """What is said where no probe is lost and the timers of one host are late in these seconds."""
    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(until):
        beats = LATE_TIMERS if at in seconds else ALIVE
        said = [{"node_sn": n, **more} for n, more in beats.items()]
        found += observe(localizer, CLUSTER.second(at, beats=said)).incidents
    return newest(found)


@pytest.mark.parametrize(
    ("late", "verdict"),
    [
        ({20}, set()),
        (set(range(20, 27)), set()),
        (set(range(10, 60, 2)), set()),
        (set(range(20, 28)), STARVING),
        (set(range(20, 31)) - {23, 27}, STARVING),
    ],
)
def test_timers_must_be_late_for_long_before_an_agent_is_starved(
    late: set[int], verdict: set[tuple[str, str]]
) -> None:
    assert names(late_in(late, 60)) == verdict


def test_an_agent_whose_timers_are_late_half_of_the_time_stays_starved() -> None:
    """It takes eight of ten heartbeats to begin, and five to go on."""
    late = {*range(20, 30), *range(30, 60, 2)}
    (incident,) = late_in(late, 60)
    assert (incident.closed_at, incident.severity) == (None, "P2")
    (incident,) = late_in(set(range(20, 30)), 60)
    assert incident.closed_at is not None
    assert not incident.evidence.get("bad_paths")


@pytest.mark.parametrize(
    ("weather", "verdict"),
    [(gone(HOST, REFUSED), AGENT_DOWN), (gone(HOST, DEAD), HOST_DOWN), (gone(HOST, FINE), set())],
)
def test_own_probes_are_the_sign_of_life_where_no_agent_sends_heartbeats(
    weather: Weather, verdict: set[tuple[str, str]]
) -> None:
    assert names(reported(weather, NO_BEATS, before=NO_BEATS)) == verdict


def test_a_host_that_never_sent_a_heartbeat_is_not_silent() -> None:
    others = DEAD_AGENT
    weather = both_ways(HOST, DEAD, first_rnic)
    assert names(reported(weather, others, before=others)) == RNIC_DOWN


def test_an_agent_that_is_down_is_not_blamed_on_the_network() -> None:
    (incident,) = reported(gone(HOST, REFUSED), DEAD_AGENT)
    assert (incident.kind, incident.layer, incident.tie_set) == (
        "agent", "agent", [f"agent:{HOST}"],
    )  # fmt: skip
    assert "kernel refuses the probes of 5 hosts" in str(incident.evidence["text"])


def of_few(hosts: int) -> set[tuple[str, str]]:
    """What is said when one of so many hosts dies."""
    few = Cluster(hosts=hosts)
    localizer, found = Localizer(topology=few.topology), []
    every = range(1, hosts + 1)
    for at in range(30):
        weather = gone(HOST, DEAD) if at >= BREAKS_AT else (lambda p, at: FINE)
        said = [{"node_sn": f"h{n}"} for n in every if at < BREAKS_AT or f"h{n}" != HOST]
        found += observe(localizer, few.second(at, weather, beats=said)).incidents
    return names(newest(found))


def test_all_witnesses_declare_a_host_dead_where_there_are_only_two() -> None:
    assert of_few(3) == HOST_DOWN


def test_one_witness_is_too_few_to_declare_a_host_dead() -> None:
    assert of_few(2) == set()


def test_a_single_missed_heartbeat_hides_time_outs_only_while_in_doubt() -> None:
    """2 s without heartbeats, then they come again and the time-outs stay: the rnic is to blame."""
    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(30):
        missing = BREAKS_AT <= at < BREAKS_AT + 2
        weather = both_ways(HOST, DEAD, first_rnic) if at >= BREAKS_AT else (lambda p, at: FINE)
        said = [{"node_sn": n} for n in (DEAD_AGENT if missing else ALIVE)]
        found += observe(localizer, CLUSTER.second(at, weather, beats=said)).incidents
    assert names(newest(found)) == RNIC_DOWN


def test_a_wrong_clock_is_an_incident_of_its_agent() -> None:
    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(12):
        skewed = {HOST: -3600.2} if at > 2 else {}
        found += observe(localizer, CLUSTER.second(at, skewed=skewed)).incidents
    (incident,) = newest(found)
    assert (incident.component, incident.symptom) == (f"agent:{HOST}", "clock_skewed")
    assert "is -3600.2 s off" in str(incident.evidence["text"])


def test_an_unheard_host_is_dropped_and_the_other_hosts_keep_their_states() -> None:
    localizer = Localizer(
        topology=CLUSTER.topology, options=Options(retention=Retention(every_s=10, unheard_s=40))
    )
    hosts: list[int] = []

    def live(seconds: range, off: frozenset[str], down: frozenset[str] = frozenset()) -> set[str]:
        found: list[Incident] = []

        def weather(p: Path, _: int) -> Second | None:
            if {p.src_node_sn, p.dst_node_sn} & off or p.src_node_sn in down:
                return None
            return DEAD if p.dst_node_sn in down else FINE

        said = [{"node_sn": n} for n in ALIVE if n not in off | down]
        for at in seconds:
            found += observe(localizer, CLUSTER.second(at, weather, beats=said)).incidents
            hosts.append(localizer.hosts)
        return {i.component for i in found}

    none: frozenset[str] = frozenset()
    left = frozenset({"h2"})
    assert live(range(10), none) == set()
    assert live(range(10, 45), left) == set()
    assert set(hosts) == {6}, "not yet"
    assert live(range(45, 70), left) == set()
    assert hosts[-1] == 5
    assert live(range(70, 84), left, frozenset({"h5"})) == {"host:h5"}
    assert live(range(84, 120), left) <= {"host:h5"}, "only that it is over"
    assert live(range(120, 140), none) == set(), "a host that comes back is like a new one"
    assert hosts[-1] == 6
    assert live(range(140, 154), none, frozenset({"h2"})) == {"host:h2"}
