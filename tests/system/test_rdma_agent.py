"""The agent itself probes over RDMA: its RDMA_PING records alone name a lossy spine.

One emulated machine stands for three hosts: an agent for each of its rnics, which hang on three
ToRs joined by two spines. Emulated, an agent takes some hundred times longer for a probe.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from builders.agents.rdma_guest import AGENT, ALLOWED, KEY_FILE, GuestAgents, Published, need_guest

from localizer.baselines import hosts
from probers.net.addresses import at_port
from probers.rdma.packet import ROCE_PORT
from schemas.component_ids import component
from schemas.documents import heartbeat
from schemas.documents.times import milliseconds_of
from testbed.netns import Fabric, Plan
from testbed.netns.faults.fault import Fault
from testbed.rdma_vm import Guest, GuestHangError
from testbed.rdma_vm.attach import attach, configure, launcher

pytestmark = [pytest.mark.rdma, pytest.mark.slow]

HOSTS, QUEUE_PAIRS = 3, 3
FIVE_TUPLES = HOSTS * (HOSTS - 1) * QUEUE_PAIRS
SPINE = "spine-1"
#: With more of its seconds starved (see the localizer) an agent's losses are taken for lateness.
MOST_STARVED = 0.1
FiveTuple = tuple[str, int, str, int]


class Played(NamedTuple):
    """What was published while a spine lost packets from ``fault_ns`` on; what a probe by hand
    printed before."""

    agents: GuestAgents
    published: Published
    by_hand: list[str]
    fault_ns: int


@pytest.fixture(scope="module", params=[False, True], ids=["ipv4", "ipv6"])
def played(request: pytest.FixtureRequest) -> Played:
    """A guest whose shell stops answering says nothing of the agent: its play is repeated once."""
    need_guest(fabric=True, agent=True)
    try:
        return play(request.param)
    except GuestHangError as why:
        warnings.warn(
            "\n".join([f"an emulated machine hung: {why}", *getattr(why, "__notes__", [])]),
            stacklevel=1,
        )
        return play(request.param)


def play(ipv6: bool) -> Played:
    plan = Plan(hosts=1, nics=HOSTS, hosts_per_tor=1, spines=2, ipv6=ipv6)
    with Fabric(plan) as fabric:
        rails = attach(fabric, 0)
        with Guest([rail.nic for rail in rails], launch=launcher(fabric, 0)) as guest:
            configure(guest, rails)
            agents = GuestAgents(guest, fabric, rails)
            agents.start(
                interval_s=3.0,
                arguments=f"--rdma-queue-pairs {QUEUE_PAIRS} --timeout 1 --trace-interval 600 "
                "--max-rate 100",
            )
            agents.wait("probes", lambda: agents.count("RDMA_PING") >= 2 * FIVE_TUPLES)
            target = at_port((agents.addresses[1], 65300))
            by_hand = guest.run(
                f"{AGENT} probe --engine rdma --to {target} --from {agents.addresses[0]} "
                f"{ALLOWED} --key-file {KEY_FILE} --count 5 --timeout 1",
                within_s=300,
            ).lines
            agents.wait("clean probes", lambda: agents.count("RDMA_PING") >= 5 * FIVE_TUPLES)
            at = component("spine", SPINE)
            fabric.create(Fault(target="network", action="loss", at=at, percent=45))
            fault_ns = int(float(guest.run("date +%s").lines[0]) * 1e9)
            agents.wait("probes with losses", lambda: agents.count("RDMA_PING") >= 13 * FIVE_TUPLES)
            return Played(agents, agents.stop(), by_hand, fault_ns)


def pings(played: Played) -> list[dict[str, Any]]:
    return [row for row in played.published.records if row["task_type"] == "RDMA_PING"]


def stats(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(row["extra_stats"])
    return found


def five_tuple(row: dict[str, Any]) -> FiveTuple:
    return row["src_ip"], row["src_port"], row["dst_ip"], row["dst_port"]


def routes(played: Played) -> dict[FiveTuple, list[str]]:
    """Switches of the complete traceroutes of RDMA five-tuples and their replies."""
    switch_of = {
        address: switch.id
        for switch in played.agents.topology.switches
        for address in switch.addresses
    }
    return {
        five_tuple(row): [switch_of[hop] for hop in json.loads(row["route"])]
        for row in played.published.records
        if row["task_type"] == "TRACEROUTE" and row["dial"] == "success"
        and ROCE_PORT in (row["src_port"], row["dst_port"])
    }  # fmt: skip


def claim(played: Played, holds: bool, said: object) -> None:
    """Assert, unless the agents were measurably starved after the fault."""
    delays_us = [
        beat.scheduling_delay_us for beat in played.published.beats if beat.time > played.fault_ns
    ]
    starved = sum(delay >= hosts.DEFAULT.starved_delay_us for delay in delays_us) / len(delays_us)
    if not holds and starved > MOST_STARVED:
        pytest.skip(
            f"machine too busy, measured: the emulated agents were starved in {starved:.0%} of "
            f"their seconds; untested claim: {said}"
        )
    assert holds, said


def test_every_queue_pair_probes_every_rnic_beside_udp(played: Played) -> None:
    rows = pings(played)
    assert len({five_tuple(row) for row in rows}) == FIVE_TUPLES, played.published.log
    assert {row["dst_port"] for row in rows} == {ROCE_PORT}
    assert {row["dscp"] for row in rows} == {26}
    answered = [row for row in rows if row["dial"] == "success"]
    assert all(stats(row)["responder_delay_us"] > 0 < row["latency"] for row in answered)
    assert "UDP_PING" in {row["task_type"] for row in played.published.records}


def test_a_probe_by_hand_is_answered_by_the_agent(played: Played) -> None:
    claim(played, "sent 5, lost 0 (0.0 %)" in played.by_hand[-1], played.by_hand)


def test_only_five_tuples_whose_traced_route_or_reply_crosses_the_spine_lose_probes(
    played: Played,
) -> None:
    known, lost = routes(played), {"over": 0, "around": 0}
    for row in pings(played):
        flow = five_tuple(row)
        both = known.get(flow), known.get((*flow[2:], *flow[:2]))
        if both[0] and both[1]:
            over = SPINE in both[0] or SPINE in both[1]
            lost["over" if over else "around"] += stats(row)["lost"]
    claim(played, lost["over"] >= 15 and lost["around"] <= 2, lost)


def test_the_lossy_spine_is_named_from_rdma_records_alone(played: Played, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("pings.ndjson", "beats.ndjson", "topology.json")]
    of_rdma = [
        row for row in played.published.records if ROCE_PORT in (row["src_port"], row["dst_port"])
    ]
    assert {row["task_type"] for row in of_rdma} == {"RDMA_PING", "TRACEROUTE"}
    of_rdma.sort(key=lambda row: int(row["ping_time"]))
    files[0].write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in of_rdma))
    beats = played.published.beats
    files[1].write_bytes(b"".join(heartbeat.encode(beat) + b"\n" for beat in beats))
    files[2].write_bytes(msgspec.json.encode(played.agents.topology))
    done = subprocess.run(
        [sys.executable, "-m", "skeletonhunter.cli", "diagnose", str(files[0]), "--topology",
         str(files[2]), "--heartbeats", str(files[1]), "--format", "json"],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    incidents = [json.loads(line) for line in done.stdout.splitlines()]
    # Emulated, opening a device stops an agent's loop for seconds: that it was starved is right.
    network = [each for each in incidents if each["layer"] != "agent"]
    named = [(each["component"], each["symptom"]) for each in network]
    claim(played, named == [(component("spine", SPINE), "loss")], (named, done.stderr))
    opened_s = (milliseconds_of(network[0]["opened_at"]) - played.fault_ns // 10**6) / 1e3
    assert opened_s >= -1, "no incident before the fault"
    print(f"opened at {opened_s:.1f} s; detected at {network[0]['detected_at']}")
