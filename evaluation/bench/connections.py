"""The controller's service with agents connected, while containers are created.

A real service against an embedded broker; the agents, in this process, ask as real ones do: they
register, wait for changes of their lists, and pause between two requests.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import numpy as np

from controller.service.tokens import agent_line, new_token, operator_line
from controller.tasks.events import Box
from evaluation.bench.http_request import Answer, ask
from evaluation.bench.method.conditions import process_cpu_s
from evaluation.bench.method.figure import figure
from probers.ping_list.controller import PAUSE_S, WAIT_S
from probers.requests import client as requests
from schemas.documents.topology import Host, Topology
from streams.kafka.embedded_broker import EmbeddedBroker
from testbed.topologies.clos import ClosSpec, build, overlay_endpoints

_HOSTS: Final = 2048
_JOB: Final = 64  # hosts
_PER_MINUTE: Final = 2000  # creations
_MEASURED_S: Final = 60
#: Goals: from a registration to the agents that need it, and of a core.
_GOAL_S: Final = 1.0
_GOAL_CORE: Final = 1.0
_FABRIC: Final = "bench"
_COMMAND: Final = (sys.executable, "-m", "skeletonhunter.cli")
_AGAIN_S: Final = 10.0  # from a failure to the next request
#: Nothing changes any more when no agent has learnt anything for so long.
_QUIET_S: Final = 5


class Agents:
    """All agents of the site, and when each learnt of the others' endpoints.

    delays_s  from a registration, or one's own if that was later, to the target in one's list
    """

    def __init__(self, port: int, tokens: dict[str, str]) -> None:
        self.delays_s: list[float] = []
        self.requests = self.failures = 0
        self._port, self._tokens = port, tokens
        self._registered_s: dict[str, float] = {}  # node_id -> when its registration was sent
        self._containers: dict[str, list[str]] = {}  # host -> node_ids in its list

    async def run(self, host: Host) -> None:
        """For ever: what the agent of a host does."""
        path, etag, again_s = f"/api/v1/agents/{host.node_sn}", "", 0.0
        registered: list[str] = []
        while True:
            mine = self._containers.get(host.node_sn, [])
            if perf_counter() >= again_s or mine != registered:
                began_s = perf_counter()
                for node_id in mine:
                    self._registered_s.setdefault(node_id, began_s)
                body = {"containers": mine}
                found = await self._ask(host, "POST", f"{path}/register", body)
                again_s = began_s + msgspec.json.decode(found.body)["again_s"]
                registered = mine
            where = f"{path}/ping-list" + (f"?wait_s={WAIT_S:g}&delta=true" if etag else "")
            answer = await self._ask(host, "GET", where, None, etag)
            if answer.status == 200:
                etag = answer.etag
                self._learn(host.node_sn, msgspec.json.decode(answer.body), perf_counter())
            await asyncio.sleep(PAUSE_S)

    async def listen(self, host: Host) -> None:
        """For ever: wait for requests besides."""
        path, etag = f"/api/v1/agents/{host.node_sn}/requests", ""
        while True:
            wait = f"?wait_s={requests.WAIT_S:g}" if etag else ""
            answer = await self._ask(host, "GET", path + wait, None, etag)
            etag = answer.etag or etag
            await asyncio.sleep(PAUSE_S)

    def _learn(self, node_sn: str, document: dict[str, Any], now_s: float) -> None:
        mine = sorted({end["node_id"] for end in document["endpoints"]} - {""})
        self._containers[node_sn] = mine
        own_s = max((self._registered_s.get(node_id, 0.0) for node_id in mine), default=0.0)
        for target in document.get("added", ()):
            if (ready_s := self._registered_s.get(target["node_id"])) is not None:
                self.delays_s.append(now_s - max(ready_s, own_s))

    async def _ask(
        self, host: Host, method: str, path: str, body: dict[str, Any] | None, etag: str = ""
    ) -> Answer:
        self.requests += 1
        while True:
            try:
                answer = await ask(self._port, method, path, self._tokens[host.node_sn], body, etag)
                if answer.status in (200, 304):
                    return answer
            except ConnectionError:
                pass
            self.failures += 1
            await asyncio.sleep(_AGAIN_S)


def connections() -> dict[str, Any]:
    """Delay from an event to the agents, and the service's CPU time."""
    spec = ClosSpec(
        name=_FABRIC, hosts=_HOSTS, rails=8, hosts_per_segment=16, aggs=8, pods=16, spines=16,
        hosts_per_job=_JOB,
    )  # fmt: skip
    topology = build(spec, 1)
    tokens = {host.node_sn: new_token() for host in topology.hosts}
    operator = new_token()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = directory / "tokens"
        file.touch(0o600)
        lines = [agent_line((_FABRIC, name), token) for name, token in tokens.items()]
        file.write_text("".join([operator_line("bench", operator), *lines]))
        broker = EmbeddedBroker()
        (directory / "topology.json").write_bytes(msgspec.json.encode(topology))
        settings = {"SKH_KAFKA": broker.bootstrap}
        subprocess.run(  # noqa: S603 — our own command
            [*_COMMAND, "topology", "publish", str(directory / "topology.json")],
            check=True, stdout=subprocess.DEVNULL, env={**os.environ, **settings},
        )  # fmt: skip
        pid, port = stack.enter_context(_controller(broker.bootstrap, file))
        return asyncio.run(_measure(topology, Agents(port, tokens), pid, port, operator))


@contextmanager
def _controller(bootstrap: str, tokens: Path) -> Iterator[tuple[int, int]]:
    """The service in a process of its own: its process id and port."""
    settings = {
        "SKH_KAFKA": bootstrap, "SKH_CONTROLLER_TOKENS": str(tokens), "SKH_CONTROLLER_PORT": "0",
        "SKH_HEALTH_PORT": "0",
    }  # fmt: skip
    running = subprocess.Popen(  # noqa: S603 — our own command
        [*_COMMAND, "controller"],
        stdout=subprocess.PIPE, text=True, env={**os.environ, **settings},
    )  # fmt: skip
    try:
        assert running.stdout is not None  # noqa: S101 — a pipe
        port = 0
        for line in running.stdout:
            if line.startswith("controller http"):
                port = urlsplit(line.split()[1]).port or 0
            if line.startswith("restored"):
                break
        yield running.pid, port
    finally:
        running.terminate()
        running.wait(30)


async def _measure(
    topology: Topology, agents: Agents, pid: int, port: int, operator: str
) -> dict[str, Any]:
    groups = [topology.hosts[at : at + _JOB] for at in range(0, _HOSTS, _JOB)]

    async def start(number: int, life: int) -> None:
        hosts = groups[number]
        boxes = [
            Box(
                node_id=f"c-{host.node_sn}-{life}", node_sn=host.node_sn, fabric=_FABRIC,
                endpoints=overlay_endpoints(host, (life * _HOSTS) + number * _JOB + at),
            )
            for at, host in enumerate(hosts)
        ]  # fmt: skip
        body = {
            "job": f"job-{number}-{life}", "fabric": _FABRIC, "size": len(boxes),
            "containers": msgspec.to_builtins(boxes),
        }  # fmt: skip
        answer = await ask(port, "POST", "/api/v1/jobs", operator, body)
        if answer.status != 201:
            raise RuntimeError(f"submission: {answer.status} {answer.body[:200]!r}")

    running = [
        asyncio.create_task(task(host))
        for host in topology.hosts
        for task in (agents.run, agents.listen)
    ]
    for number in range(len(groups)):
        await start(number, 0)
    await _quiet(agents)
    agents.delays_s.clear()
    requests, spent_s, own_s, began_s = (
        agents.requests,
        process_cpu_s(pid),
        process_time(),
        perf_counter(),
    )
    created = 0
    while (due_s := began_s + 60 * created / _PER_MINUTE) < began_s + _MEASURED_S:
        await asyncio.sleep(max(0.0, due_s - perf_counter()))
        life, number = divmod(created // _JOB, len(groups))
        await ask(port, "DELETE", f"/api/v1/jobs/job-{number}-{life}", operator)
        await start(number, life + 1)
        created += _JOB
    await asyncio.sleep(max(0.0, began_s + _MEASURED_S - perf_counter()))
    elapsed_s = perf_counter() - began_s
    share = (process_cpu_s(pid) - spent_s) / elapsed_s
    asked = (agents.requests - requests) / elapsed_s
    mine = (process_time() - own_s) / elapsed_s
    await _quiet(agents)
    for each in running:
        if each.done():
            each.result()
        each.cancel()
    p50, p99, longest = np.percentile(agents.delays_s, [50, 99, 100])
    return {
        **figure(
            "P99 {p99:.2f} s from a registration to the agents that need it (P50 {p50:.2f}, "
            "longest {longest:.2f} s, {targets:,} targets of {created:,} containers); "
            "{percent:.0f} % of a core at {asked:.0f} requests/s of {hosts:,} agents, which take "
            "{others:.0f} % of another; {failures} requests failed",
            p99=p99, p50=p50, longest=longest, targets=len(agents.delays_s), created=created,
            percent=100 * share, asked=asked, hosts=_HOSTS, others=100 * mine,
            failures=agents.failures,
        ),
        "goal": f"<= {_GOAL_S:g} s, <= {100 * _GOAL_CORE:.0f} % of a core",
        "missed": bool(p99 > _GOAL_S or share > _GOAL_CORE or agents.failures > 0),
        "rss_mb": _peak_mb(pid),
    }  # fmt: skip


async def _quiet(agents: Agents) -> None:
    """Until no agent has learnt anything for some seconds."""
    known = -1
    while known != len(agents.delays_s):
        known = len(agents.delays_s)
        await asyncio.sleep(_QUIET_S)


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if "VmHWM" in line)) / 1024
