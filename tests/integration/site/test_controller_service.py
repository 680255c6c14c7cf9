"""The controller as a process: agents register and read their lists, and a restart loses
nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
from builders.agents.site import own_network
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import OPERATOR, probed, token_of, tokens_of
from builders.controller.task_events import HOSTS, box
from builders.schemas.incidents import INCIDENT

from probers.ping_list.controller import ControllerClient, Ready
from schemas import topics
from schemas.documents.topology import Host, Rnic, Switch, Topology
from skeletonhunter.commands.inventory.topic_documents import Keyed, publish

from ..conftest import Broker, Command

LONG_S = 300.0
TOPOLOGY = two_tiers(HOSTS)
NAMES = [host.node_sn for host in TOPOLOGY.hosts]
JOB = {
    "job": "job-a", "fabric": "f1", "size": HOSTS,
    "containers": msgspec.to_builtins([box(f"c{number}", number) for number in range(HOSTS)]),
}  # fmt: skip


def controller_command(run: Callable[..., Command], broker: Broker, tokens: Path) -> Command:
    """The command against a broker."""
    return run(
        "controller", "--port", "0", SKH_KAFKA=broker.bootstrap, SKH_HEALTH_PORT="0",
        SKH_CONTROLLER_TOKENS=str(tokens),
    )  # fmt: skip


def said(command: Command, pattern: str) -> str:
    """What a command has printed, once it has."""
    command.wait_for(
        lambda: re.search(pattern, command.log.read_text()) is not None, pattern, LONG_S
    )
    found = re.search(pattern, command.log.read_text())
    assert found
    return found[1]


class Controller:
    """The command, and its callers."""

    def __init__(self, run: Callable[..., Command], broker: Broker, tokens: Path) -> None:
        self.command = controller_command(run, broker, tokens)
        self.health = httpx.Client(base_url=said(self.command, r"health and metrics (http://\S+/)"))
        self.url = said(self.command, r"controller (http://\S+/)")
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

    def agent(self, number: int, ready: Callable[[], Ready]) -> ControllerClient:
        """What the agent of a host reads its list with."""
        return ControllerClient([self.url], NAMES[number], token_of(NAMES[number]), ready)


def write_tokens(directory: Path) -> Path:
    """The file of tokens of all hosts and an operator."""
    tokens = directory / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text(tokens_of(NAMES))
    return tokens


def publish_topology(broker: Broker, topology: Topology) -> None:
    """Return when the topic holds it."""
    publish(
        {"bootstrap.servers": broker.bootstrap}, topics.TOPOLOGY, [Keyed(topology.fabric, topology)]
    )


def start_agent(
    directory: Path, url: str, number: int, publish_to: str = ""
) -> subprocess.Popen[bytes]:
    """The agent of a host; it publishes to the file records-<number>, unless said otherwise."""
    key, token = directory / "key", directory / f"token-{number}"
    for path, content in ((key, "a probe key of these tests"), (token, token_of(NAMES[number]))):
        path.touch(mode=0o600)
        path.write_text(content)
    return subprocess.Popen(
        [
            sys.executable, "-m", "probers.agent.main", "--controller", url,
            "--token-file", str(token), "--key-file", str(key), "--node-sn", NAMES[number],
            "--publish", publish_to or f"file:{directory / f'records-{number}'}",
            "--encoding", "ndjson",
            "--list-interval", "0.5", "--trace-interval", "0",
        ],
        stderr=subprocess.PIPE,
    )  # fmt: skip


def own(number: int) -> Callable[[], Ready]:
    return lambda: Ready((f"c{number}",))


def read(agent: ControllerClient) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(agent(agent.location, 60.0))
    return document


def test_lists_follow_jobs_and_drains_and_are_there_again_after_a_restart(
    broker: Broker, run: Callable[..., Command], tmp_path: Path
) -> None:
    tokens = write_tokens(tmp_path)
    publish_topology(broker, TOPOLOGY)

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


def agents_site(network: str) -> Topology:
    """Two hosts with one rnic each on this machine's loopback, behind one ToR."""
    return Topology(
        fabric="f1",
        hosts=[
            Host(f"h{number:03}", [Rnic(f"{network}.{number + 1}", 0, "tor-0")])
            for number in range(2)
        ],
        switches=[Switch("tor-0", "asw")],
    )


def on_demand(controller: Controller, **ask: Any) -> list[dict[str, Any]]:
    """The lines that answer a probe on demand."""
    answer = controller.operator.post("/api/v1/probes", json=ask)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines() if line]


def completed(controller: Controller) -> float:
    """Requests that agents have done."""
    metrics = controller.health.get("/metrics").text
    found = re.search(r'skh_controller_requests_total{outcome="complete"} (\S+)', metrics)
    assert found
    return float(found[1])


def test_agents_get_lists_register_their_containers_and_probe_each_other_and_on_demand(
    embedded: Broker, run: Callable[..., Command], tmp_path: Path
) -> None:
    network = own_network()
    over = network.rpartition(".")[0] + f".{(int(network.rpartition('.')[2]) + 1) % 256}"
    boxes = [
        {"node_id": f"c{number}", "node_sn": f"h{number:03}",
         "endpoints": [{"ip": f"{over}.{number + 1}", "real_ip": f"{network}.{number + 1}"}]}
        for number in range(2)
    ]  # fmt: skip
    publish_topology(embedded, agents_site(network))
    controller = Controller(run, embedded, write_tokens(tmp_path))
    job = {"job": "job-a", "fabric": "f1", "size": 2, "containers": boxes}
    assert controller.operator.post("/api/v1/jobs", json=job).status_code == 201
    brokers = ["", f"kafka:{embedded.bootstrap}"]  # where evidence is read
    agents = [start_agent(tmp_path, controller.url, n, brokers[n]) for n in range(2)]
    records = tmp_path / "records-0"

    def probed_layers() -> set[str]:
        text = records.read_text() if records.exists() else ""
        named = text.replace("\\", "")  # each line holds the records as a text
        return {layer for layer in ("overlay", "underlay") if f'"agent_type":"{layer}"' in named}

    try:
        controller.command.wait_for(
            lambda: probed_layers() == {"overlay", "underlay"}, "both layers are probed", LONG_S
        )
        for source, target in (("h001", "h000"), ("c1", "c0")):
            found = on_demand(
                controller, source=source, target=target, count=3, interval_s=0.2, ports=2
            )
            assert [*map(list, found)] == [["request"], *[["probe"]] * 6, ["end"]], found
            assert (found[-1]["end"]["state"], found[-1]["end"]["answered"]) == ("complete", 6)
        assert completed(controller) == 2
        rnic = f"rnic:{network}.2"
        tied = msgspec.structs.replace(
            INCIDENT, component=rnic, kind="rnic", tie_set=[rnic, f"link:{rnic}|tor:tor-0"]
        )
        publish(
            {"bootstrap.servers": embedded.bootstrap}, topics.INCIDENTS,
            [Keyed(tied.incident_id, tied)],
        )  # fmt: skip
        controller.command.wait_for(
            lambda: completed(controller) > 2, "routes are traced for the incident", LONG_S
        )
        controller.operator.delete("/api/v1/jobs/job-a")
        status = controller.operator.get("/api/v1/jobs/job-a").json()
        assert {each["state"] for each in status["containers"]} == {"draining"}
    finally:
        for agent in agents:
            agent.terminate()
            _, errors = agent.communicate(timeout=LONG_S)
    assert [agent.returncode for agent in agents] == [0, 0], errors
    controller.stop()
