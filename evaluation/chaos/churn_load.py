"""The load of a soak: jobs, containers, addresses and hosts are new all the time."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Final

import msgspec
from confluent_kafka import Producer

from evaluation.chaos.load import SECOND_NS, load
from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.placement import Placement
from schemas.documents.times import rfc3339
from schemas.documents.topology import Host, Topology
from schemas.topics import Topic
from testbed.scenarios.scenario import Scenario
from testbed.simulator.simulator import Second, Simulation
from testbed.topologies.clos import ClosSpec

#: A host that joins leaves after so many seconds, when the next one joins.
_STAY_S: Final = 60
#: From this second on every five-tuple has had its first traceroute.
STEADY_S: Final = 120
_LEAST_HOSTS: Final = 32  # a segment in each pod
_JOINED_BASE: Final = IPv4Address("198.18.0.0")  # of benchmarks, so of no other rnic


def joined(topology: Topology, number: int, valid_from_ns: int) -> Topology:
    """The fabric from then on with one more host, the ``number``-th, cabled as its last one."""
    like = topology.hosts[-1]
    first = _JOINED_BASE + number * len(like.rnics)
    rnics = [
        msgspec.structs.replace(rnic, real_ip=str(first + place))
        for place, rnic in enumerate(like.rnics)
    ]
    host = Host(f"joined-{number}", rnics, like.pod)
    return msgspec.structs.replace(
        topology, hosts=[*topology.hosts, host], valid_from=rfc3339(valid_from_ns)
    )


def scaled(plan: Scenario, hosts: int) -> Scenario:
    """The same scenario on so many hosts, with as many more or fewer jobs and changes of them."""
    fabric, jobs = plan.fabric, plan.jobs
    assert isinstance(fabric, ClosSpec) and jobs is not None  # noqa: PT018, S101 — as churn.toml has
    scale = hosts / fabric.hosts
    sizes = (jobs.hosts * hosts)[: round(len(jobs.hosts) * scale)]
    return msgspec.structs.replace(
        plan,
        fabric=msgspec.structs.replace(fabric, hosts=hosts),
        jobs=msgspec.structs.replace(jobs, hosts=sizes, churn=jobs.churn * scale),
    )


def carrying(plan: Scenario, rate: int) -> Scenario:
    """The smallest scale of a scenario that has so many records a second."""
    for hosts in itertools.count(_LEAST_HOSTS, _LEAST_HOSTS):
        found = scaled(plan, hosts)
        if found.simulation(seed=1, start_ns=0).second(STEADY_S).pings.num_rows >= rate:
            break
    return found


class ChurnLoad(threading.Thread):
    """Simulates and publishes second after second until it is stopped.

    records, behind_s  published so far [count]; how late it was at the most [s]
    """

    def __init__(self, bootstrap: str, simulation: Simulation) -> None:
        super().__init__(name="load", daemon=True)
        self.records, self.behind_s = 0, 0.0
        self._simulation = simulation
        self._ended = threading.Event()
        self._producer = Producer({
            "bootstrap.servers": bootstrap, "compression.type": "lz4", "linger.ms": 20,
            "log_level": 2,
        })  # fmt: skip
        self.start()

    def run(self) -> None:
        index = 0
        while not self._ended.is_set():
            second = self._simulation.second(index)
            late_s = time.time() - second.start_ns / SECOND_NS
            self.behind_s = max(self.behind_s, late_s)
            if late_s < 0 and self._ended.wait(-late_s):
                return
            self._publish(second)
            self._producer.flush(30)
            index += 1

    def _publish(self, second: Second) -> None:
        number, since_s = divmod(second.index, _STAY_S)
        fabric = joined(self._simulation.topology, number, second.start_ns)
        if not since_s:
            self._document(topics.TOPOLOGY, fabric.fabric, fabric)
        for placed in self._simulation.placements(second.index):
            self._document(topics.PLACEMENT, placed.node_id, placed)
        like = second.heartbeats[-1]
        beat = heartbeat.Heartbeat(fabric.hosts[-1].node_sn, like.time, fabric=like.fabric)
        headers: list[tuple[str, str | bytes | None]] = [
            (topics.CONTENT_TYPE, topics.ARROW.encode())
        ]
        for each in load([replace(second, heartbeats=[*second.heartbeats, beat])]):
            self._producer.produce(each.topic, key=each.node_sn, value=each.value, headers=headers)
            self.records += each.records

    def _document(self, topic: Topic, key: str, document: Topology | Placement) -> None:
        self._producer.produce(topic.name, key=key, value=msgspec.json.encode(document))

    def end(self) -> None:
        """Publish nothing more."""
        self._ended.set()
        self.join(60)
