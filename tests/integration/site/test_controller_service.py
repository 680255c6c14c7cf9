"""The controller as a process: agents register and read their lists, and a restart loses
nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import OPERATOR, probed, token_of, tokens_of
from builders.controller.task_events import HOSTS, box

from probers.ping_list.controller import ControllerClient, Ready
from schemas import topics

from ..conftest import Broker, Command

LONG_S = 300.0
TOPOLOGY = two_tiers(HOSTS)
NAMES = [host.node_sn for host in TOPOLOGY.hosts]
JOB = {
    "job": "job-a", "fabric": "f1", "size": HOSTS,
    "containers": msgspec.to_builtins([box(f"c{number}", number) for number in range(HOSTS)]),
}  # fmt: skip


class Controller:
    """The command, and its callers."""

    def __init__(self, run: Callable[..., Command], broker: Broker, tokens: Path) -> None:
        self.command = run(
            "controller", "--port", "0", SKH_KAFKA=broker.bootstrap, SKH_HEALTH_PORT="0",
            SKH_CONTROLLER_TOKENS=str(tokens),
        )  # fmt: skip
        self.health = httpx.Client(base_url=self._said(r"health and metrics (http://\S+/)"))
        self.url = self._said(r"controller (http://\S+/)")
        self.command.wait_for(
            lambda: self.health.get("/readyz").status_code == 200, "it is ready", LONG_S
        )
        self.operator = httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {OPERATOR}"}, timeout=LONG_S
        )

    def stop(self) -> None:
        """End it, gracefully."""
        self.health.close()
        self.operator.close()
        assert self.command.stop() == 0, self.command.log.read_text()

    def _said(self, pattern: str) -> str:
        self.command.wait_for(
            lambda: re.search(pattern, self.command.log.read_text()) is not None, pattern, LONG_S
        )
        found = re.search(pattern, self.command.log.read_text())
        assert found
        return found[1]

    def agent(self, number: int, ready: Callable[[], Ready]) -> ControllerClient:
        """What the agent of a host reads its list with."""
        return ControllerClient(self.url, NAMES[number], token_of(NAMES[number]), ready)


def own(number: int) -> Callable[[], Ready]:
    return lambda: Ready((f"c{number}",))


def read(agent: ControllerClient) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(agent(agent.location, 60.0))
    return document


def test_lists_follow_jobs_and_drains_and_are_there_again_after_a_restart(
    broker: Broker, run: Callable[..., Command], tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text(tokens_of(NAMES))
    broker.produce(topics.TOPOLOGY.name, "f1", msgspec.json.encode(TOPOLOGY), time.time_ns(), {})
    assert broker._producer.flush(30) == 0  # noqa: SLF001 — the topic holds it before the start

    first = Controller(run, broker, tokens)
    assert first.operator.post("/api/v1/jobs", json=JOB).status_code == 201
    agents = [first.agent(number, own(number)) for number in range(HOSTS)]
    for agent in agents:
        read(agent)
    full = probed(msgspec.json.decode(first.agent(0, own(0))(agents[0].location, 60.0)))
    assert full

    began = time.monotonic()
    drain = {"event": "container_draining", "time_ms": time.time_ns() // 10**6, "source": "rest",
             "node_id": "c1"}  # fmt: skip
    assert first.operator.post("/api/v1/events", json=drain).status_code == 200
    shrunk = probed(read(agents[0]))
    assert shrunk < full or not shrunk
    assert not any("172.16.1.1" in pair for pair in shrunk)
    assert time.monotonic() - began < 20, "it waited for the change, and not for the time"
    metrics = first.health.get("/metrics").text.splitlines()
    assert 'skh_controller_events_total{kind="container_draining"} 1.0' in metrics
    assert "skh_controller_unpublished 0.0" in metrics
    first.stop()

    second = Controller(run, broker, tokens)
    status = second.operator.get("/api/v1/jobs/job-a").json()
    states = {each["node_id"]: each["state"] for each in status["containers"]}
    assert states == {"c0": "ready", "c1": "draining", "c2": "ready", "c3": "ready"}
    again = second.agent(0, own(0))
    assert probed(msgspec.json.decode(again(again.location, 60.0))) == shrunk
    second.stop()


def test_a_file_of_tokens_is_needed(embedded: Broker, run: Callable[..., Command]) -> None:
    command = run("controller", SKH_KAFKA=embedded.bootstrap)
    assert command.process.wait(LONG_S) == 2
    assert "SKH_CONTROLLER_TOKENS" in command.log.read_text()
    assert command.log.read_text().count("\n") == 1
