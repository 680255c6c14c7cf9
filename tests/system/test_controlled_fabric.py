"""Real agents and a real controller: no agent is given a list, and no file names a container.

Hosts register at the controller and probe what it says; a job is submitted, the rnics of its
containers are measured while they exchange traffic, and a fault is named.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from builders.controller.controlled_fabric import ControlledFabric, controlled_fabric
from builders.fabric_site import require_root

from schemas import topics
from schemas.component_ids import component
from streams.readers.throughput_rows import decode
from testbed.netns import Plan, machine
from testbed.netns.probes.traffic import PAYLOAD_BYTES

pytestmark = [pytest.mark.netns, pytest.mark.slow]

PLAN = Plan(hosts=4, nics=2, hosts_per_tor=2, spines=2, containers=1, tenants=1)
NAMED_WITHIN_S = 30
#: Of a request for counters, which are read twice, 30 s apart, and of what follows.
JUDGED_WITHIN_S = 120
ROUND_S, ROUNDS, BURST_BYTES = 4, 5, 480_000
#: Headers of VXLAN, UDP, IP and Ethernet, of the tunnel and inside it, of a payload of 1,200 B.
ON_THE_WIRE = 1 + (50 + 42) / PAYLOAD_BYTES
#: Probes, traceroutes and address resolution of an rnic in a second, at most [B].
OTHER_BYTES = 60_000


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ControlledFabric]:
    require_root()
    with controlled_fabric(tmp_path, PLAN) as made:
        yield made


def submit(site: ControlledFabric) -> None:
    """A job with a container on each host."""
    containers = [
        {"node_id": box.node_id, "node_sn": box.node_sn,
         "endpoints": msgspec.to_builtins(box.endpoints)}
        for box in site.fabric.topology.containers
    ]  # fmt: skip
    job = {"job": "job-0", "fabric": PLAN.fabric, "size": PLAN.hosts, "containers": containers}
    assert site.operator.post("jobs", json=job).status_code == 201


def start_agents(site: ControlledFabric) -> None:
    """On each host its own agent, and one in its container's network."""
    for host, box in zip(PLAN.host_names(), PLAN.container_names(), strict=True):
        site.start_host_agent(host)
        site.start_container_agent(box, host)


def states(site: ControlledFabric) -> dict[str, str]:
    """What the job's containers are."""
    job = site.operator.get("jobs/job-0").json()
    return {each["node_id"]: each["state"] for each in job["containers"]}


def await_pairs(site: ControlledFabric, layer: str) -> None:
    """Return when each endpoint of the layer has had answers from another host."""
    answered: set[str] = set()

    def read() -> bool:
        for payload, _ in site.messages(topics.PINGS.name):
            rows = pa.ipc.open_stream(payload).read_all().to_pylist()
            answered.update(
                row["src_ip"] for row in rows
                if (row["agent_type"], row["dial"]) == (layer, "success")
                and row["src_node_sn"] != row["dst_node_sn"]
            )  # fmt: skip
        return len(answered) == PLAN.hosts * PLAN.nics

    site.wait(f"{layer}: all endpoints have answers", 120, read)


def exchange(site: ControlledFabric) -> int:
    """Containers send to the next one on each rail, round after round; returns when they began."""
    begin_s = int(time.time()) + 5
    senders = []
    for host in range(PLAN.hosts):
        pairs = [
            f"--pair={PLAN.container_address(host, 0, nic)}="
            f"{PLAN.container_address((host + 1) % PLAN.hosts, 0, nic)}"
            for nic in range(PLAN.nics)
        ]
        command = [
            sys.executable, "-m", "testbed.netns.probes.traffic", *pairs,
            "--bytes", str(BURST_BYTES), "--begin", str(begin_s), "--round", str(ROUND_S),
            "--rounds", str(ROUNDS),
        ]  # fmt: skip
        senders.append(site.fabric.popen(f"cont-{host}-0", command))
    assert [sender.wait(300) for sender in senders] == [0] * PLAN.hosts
    return begin_s


def throughput(site: ControlledFabric, until_s: int) -> dict[str, dict[int, tuple[int, int]]]:
    """(sent, received) bytes by rnic and second, of what the agents have published so far and
    until all rnics have a sample of ``until_s``."""
    found: defaultdict[str, dict[int, tuple[int, int]]] = defaultdict(dict)

    def read() -> bool:
        for payload, content_type in site.messages(topics.THROUGHPUT.name):
            rows = decode(payload, content_type)
            for ip, time_ns, tx, rx in zip(
                rows.real_ip, rows.time, rows.tx_bytes, rows.rx_bytes, strict=True
            ):
                found[ip][int(time_ns) // 10**9] = int(tx), int(rx)
        ends = [max(seconds) for seconds in found.values()]
        return len(ends) == PLAN.hosts * PLAN.nics and min(ends) >= until_s

    site.wait("throughput of all rnics", 60, read)
    return dict(found)


def test_agents_find_their_work_at_the_controller_and_measure_and_faults_are_named(
    site: ControlledFabric,
) -> None:
    start_agents(site)
    submit(site)
    everywhere = dict.fromkeys(PLAN.container_names(), "ready")
    site.wait("all containers are ready", 60, lambda: states(site) == everywhere)
    await_pairs(site, "underlay")
    await_pairs(site, "overlay")
    check_probes_on_demand(site)
    began_s = exchange(site)
    check_counters(throughput(site, began_s + ROUNDS * ROUND_S), began_s)
    (learnt,) = site.operator.get("jobs/job-0/skeleton").json()["fabrics"]
    assert learnt["seconds"] > ROUNDS * ROUND_S, "the controller has them too"

    assert site.incidents() == [], "no fault, no incident"
    crash(site, "cont-2-0")
    await_named(site, component("container", "cont-2-0"))
    os.kill(site.fabric.agents["cont-3-0"].process.pid, signal.SIGTERM)
    site.wait("the one that ends drains", 20, lambda: states(site)["cont-3-0"] == "draining")
    site.fabric.nic_down("host-1", 1)
    await_named(site, component("rnic", PLAN.nic_address(1, 1)))
    await_counters_judged(site, PLAN.nic_address(1, 1))


def check_probes_on_demand(site: ControlledFabric) -> None:
    """A container's own agent, which does not reach the controller, does what that asks."""
    count = 3
    body = {"source": "cont-0-0", "target": "cont-1-0", "count": count, "interval_s": 0.2}
    answer = site.operator.post("probes", json=body)
    assert answer.status_code == 200, answer.text
    # An empty line comes each second while an answer is waited for.
    *_, last = (msgspec.json.decode(line) for line in answer.text.splitlines() if line)
    end = last["end"]
    assert (end["state"], end["answered"]) == ("complete", end["sent"]), answer.text
    assert end["sent"] >= count * PLAN.nics


def crash(site: ControlledFabric, container: str) -> None:
    """Its agent is killed, and its network is gone."""
    os.kill(site.fabric.agents[container].process.pid, signal.SIGKILL)
    down = [f"link set eth{nic} down" for nic in range(PLAN.nics)]
    machine.ip(site.fabric.namespace(container), down)


def await_named(site: ControlledFabric, culprit: str) -> None:
    """Return when an incident names a component, alone or with what probes cannot tell from it."""
    site.wait(
        f"{culprit} is named", NAMED_WITHIN_S,
        lambda: any(culprit in each["tie_set"] for each in site.incidents()),
    )  # fmt: skip


def await_counters_judged(site: ControlledFabric, rnic: str) -> None:
    """The controller asks the rnic's host for counters, and they say how it died."""

    def judged() -> bool:
        about = (each for each in site.incidents() if component("rnic", rnic) in each["tie_set"])
        return any(
            each["issue_type"] == "rnic_port_down" and f"rnic {rnic}: " in each["evidence"]["text"]
            for each in about
        )

    site.wait(f"counters of {rnic} are judged", JUDGED_WITHIN_S, judged)


def check_counters(counted: dict[str, dict[int, tuple[int, int]]], began_s: int) -> None:
    """Each burst is in the second in which it was sent, with its bytes, and in no other."""
    burst = BURST_BYTES * ON_THE_WIRE
    assert counted.keys() == {
        PLAN.nic_address(host, nic) for host in range(PLAN.hosts) for nic in range(PLAN.nics)
    }
    for ip, seconds in counted.items():
        during = {s - began_s: both for s, both in seconds.items() if s >= began_s}
        bursts = during.keys() & {number * ROUND_S for number in range(ROUNDS)}
        assert bursts, f"{ip}: all are gaps"
        for second in bursts:
            for counter in during[second]:
                assert burst <= counter <= burst + OTHER_BYTES, (ip, second)
        assert all(max(during[s]) < OTHER_BYTES for s in during.keys() - bursts), ip
