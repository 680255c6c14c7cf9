"""A job of whole hosts from its scheduler's word to its skeleton in the lists.

Agents and controller speak HTTP; there is no broker.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

import httpx
import numpy as np
import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import OPERATOR, T0_MS, Service, serving, token_of

from controller.service.learning import learn_next
from probers.ping_list.controller import ControllerClient, Ready
from probers.ping_list.document import PingList, job_rnics, parse
from probers.throughput.reporter import ThroughputReporter
from probers.throughput.seconds import NS, Reading
from skeletonhunter.services.controller.service import take_throughput
from streams.readers.throughput_feed import Received
from streams.readers.throughput_rows import decode
from testbed.training.cases import LabelledTraffic, training

HOSTS, RAILS, SECONDS = 8, 8, 260
BEGINNINGS = {
    "file": ("PUT", "jobs/slurm-7",
             {"json": {"job": "slurm-7", "fabric": "f1", "hosts": ["h[000-007]"]}}),
    "slurm": ("POST", "slurm/start",
              {"content": "job_id=7&nodes=h%5B000-007%5D&account=a&fabric=f1"}),
}  # fmt: skip


class HostAgent:
    """What an agent does about lists and throughput, in virtual time: its rnics count what those of
    a training job send."""

    def __init__(self, url: str, service: Service, made: LabelledTraffic, number: int) -> None:
        self.node_sn = f"h{number:03}"
        self.client = ControllerClient([url], self.node_sn, token_of(self.node_sn), Ready)
        self.service, self.second = service, 0
        own = np.flatnonzero(made.host == number)
        self.sent, self.received = (np.cumsum(each[own], axis=1) for each in (made.tx, made.rx))
        self.counts: Counter[str] = Counter()
        self.list = PingList(self.node_sn)
        self.reporter = ThroughputReporter(
            self, self.node_sn, "arrow", lambda: job_rnics(self.list), self, phase=0,
            wall_ns=self.now_ns, running_ns=self.now_ns,
        )  # fmt: skip

    def now_ns(self) -> int:
        return T0_MS * 10**6 + self.second * NS

    def read_list(self) -> PingList:
        self.list = parse(self.client(self.client.location, 10.0), self.client.location)
        return self.list

    def prepare(self, rnics: Iterable[str]) -> bool:
        return False

    def doubt(self, real_ip: str) -> str:
        return ""

    def read(self, real_ip: str) -> Reading:
        rail, at = int(real_ip.split(".")[1]), self.second - 1
        if at < 0:
            return Reading("rdma:mlx5", 0, 0)
        return Reading("rdma:mlx5", int(self.sent[rail, at]), int(self.received[rail, at]))

    def publish(
        self, topic: str, key: str, payload: bytes, content_type: str, headers: object = None
    ) -> bool:
        rows = decode(payload, content_type)
        take_throughput(self.service.site, Received(rows, self.now_ns() // 10**6))
        return True

    def connect(self, timeout_s: float) -> None: ...

    def poll(self) -> None: ...

    def close(self, timeout_s: float) -> int:
        return 0


def probed(document: PingList) -> dict[tuple[str, str], list[int]]:
    return {(each.src_ip, each.ip): each.src_ports for each in document.targets}


def status(operator: httpx.Client) -> dict[str, Any]:
    (found,) = operator.get("jobs/slurm-7/skeleton").json()["fabrics"]
    return dict(found)


@pytest.mark.parametrize("source", BEGINNINGS)
def test_agents_measure_the_rnics_of_a_job_on_whole_hosts_and_its_skeleton_joins_their_lists(
    source: str,
) -> None:
    made = training(64, moe=False, impairment="none", seed=5, duration_s=SECONDS)
    service = Service(two_tiers(HOSTS, RAILS))
    bearer = {"Authorization": f"Bearer {OPERATOR}"}
    with (
        serving(service) as url,
        httpx.Client(base_url=f"{url}/api/v1/", headers=bearer) as operator,
    ):
        agents = [HostAgent(url, service, made, number) for number in range(HOSTS)]
        planned = {agent.node_sn: probed(agent.read_list()) for agent in agents}
        for agent in agents[:-1]:  # all have registered now
            planned[agent.node_sn] = probed(agent.read_list())
        assert not any(job_rnics(agent.list).addresses for agent in agents)

        method, path, body = BEGINNINGS[source]
        assert operator.request(method, path, **body).is_success
        for agent in agents:
            measured = job_rnics(agent.read_list())
            assert measured.addresses == tuple(
                f"10.{rail}.{int(agent.node_sn[1:])}.1" for rail in range(RAILS)
            )
            assert probed(agent.list) == planned[agent.node_sn]
        service.site.traffic.follow(service.now_ms)
        for second in range(1, SECONDS + 1):
            for agent in agents:
                agent.second = second
                agent.reporter.measure()
        assert status(operator)["seconds"] >= 240
        assert asyncio.run(learn_next(service.site))

        learnt = status(operator)
        assert (learnt["phase"], learnt["reason"]) == ("skeleton", "inferred")
        rows = [
            f"10.{r}.{h}.1" for h, r in zip(made.host.tolist(), made.rail.tolist(), strict=True)
        ]
        host = dict(zip(rows, made.host.tolist(), strict=True))
        true = {(rows[a], rows[b]) for a, b in made.pairs.tolist() if made.host[a] != made.host[b]}
        inferred = {tuple(pair) for pair in learnt["inferred"]["pairs"]}
        assert true <= {*inferred, *((b, a) for a, b in inferred)}
        listed: set[tuple[str, str]] = set()
        for agent in agents:
            after = probed(agent.read_list())
            assert all(after[pair] == ports for pair, ports in planned[agent.node_sn].items())
            listed |= after.keys()
        for a, b in inferred:
            assert {(a, b), (b, a)} <= listed or host[a] == host[b]

        service.now_ms += 1000 * SECONDS + 1000
        assert operator.delete("jobs/slurm-7").is_success
        for agent in agents:
            assert probed(agent.read_list()) == planned[agent.node_sn]
            assert job_rnics(agent.list).addresses == ()
