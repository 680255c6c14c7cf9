"""docker-compose.yml without its engine: commands, variables and health checks as real processes.

Kafka is Apache Kafka with the properties that `init` writes, ClickHouse is the embedded store. What
differs from the containers is what ``Site.local`` replaces: addresses, ports and folders.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from schemas.secret_files import read_secret
from skeletonhunter.deployment.secrets import OWNERS
from skeletonhunter.services.health import PORTS
from testbed.services import kafka_server
from testbed.services.kafka_server import JARS
from testbed.services.ports import free_port

ROOT = Path(__file__).parents[3]
LONG_S = 300.0
JAVA = "java -Xms128m -Xmx384m -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 — what is replaced
PARTS = {"worker": "stream", "sink": "sink", "controller": "controller", "api": "api"}

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.heavy]


class Site:
    """The compose file, and where its addresses and folders are on this machine."""

    def __init__(self, folder: Path) -> None:
        document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
        self.services: dict[str, Any] = document["services"]
        self.folder = folder
        self.inside, self.outside = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self._started: list[subprocess.Popen[bytes]] = []
        (folder / "site").mkdir()
        (folder / "bin").mkdir()
        tools = {
            "kafka-storage.sh": "kafka.tools.StorageTool",
            "kafka-server-start.sh": "kafka.Kafka",
        }
        for script, name in tools.items():
            path = folder / "bin" / script
            path.write_text(f'#!/bin/sh\nexec {JAVA} -cp "{JARS}/*" {name} "$@"\n')
            path.chmod(0o700)

    def local(self, text: str) -> str:
        """A text of the compose file with this machine's addresses, ports and folders."""
        text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text).replace("$$", "$")
        for there, here in (
            ("kafka:19092", self.inside),
            (ANY_ADDRESS, "127.0.0.1"),
            ("/opt/kafka/bin", str(self.folder / "bin")),
            ("/run/skeletonhunter", str(self.folder / "secrets" / "skeletonhunter")),
            ("/run/kafka", str(self.folder / "secrets" / "kafka")),
            ("/etc/skeletonhunter", str(self.folder / "site")),
            ("/secrets", str(self.folder / "secrets")) if text == "/secrets" else ("", ""),
            ("127.0.0.1/19092", self.inside.replace(":", "/")),
        ):  # fmt: skip
            text = text.replace(there, here) if there else text
        return text

    def environment(self, service: str, health_port: int = 0, host: str = "") -> dict[str, str]:
        """Variables of a service, and none of this process but the path and the locale.

        host  name of the container that it stands for
        """
        found = {k: self.local(v) for k, v in self.services[service]["environment"].items()}
        if "SKH_CLICKHOUSE_URL" in found:
            assert read_secret(found.pop("SKH_CLICKHOUSE_PASSWORD_FILE")).strip()
            found["SKH_CLICKHOUSE_URL"] = f"chdb:{self.folder / 'chdb'}"
        for name in ("SKH_API_PORT", "SKH_CONTROLLER_PORT"):
            if name in found:
                found[name] = str(free_port())
        if "SKH_INSTANCE" in found:
            assert found["SKH_INSTANCE"] == "{hostname}"
            found["SKH_INSTANCE"] = host
        if health_port:
            found["SKH_HEALTH_PORT"] = str(health_port)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**found, "PATH": path, "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}

    def run(self, service: str, *arguments: str) -> str:
        """Run a service that ends by itself; what it wrote."""
        config = self.services[service]
        command = arguments or tuple(map(self.local, config["command"]))
        entry = config.get("entrypoint", ["skeletonhunter"])
        place = self.local(config.get("working_dir", str(self.folder)))
        done = subprocess.run(
            [*entry, *command], env=self.environment(service), capture_output=True, text=True,
            timeout=LONG_S, check=False, cwd=place,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def start(self, command: list[str], environment: dict[str, str], log: Path) -> Process:
        with log.open("ab") as out:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        self._started.append(process)
        return Process(process, log)

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait(10)


class Process:
    """A service that runs, with its health check."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log

    def wait_healthy(self, check: list[str], environment: dict[str, str]) -> None:
        """Until the health check ends with 0, as the engine asks it."""
        deadline = time.monotonic() + LONG_S
        while subprocess.run(check, env=environment, capture_output=True, check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"not healthy: {self.process.poll()}\n{self.log.read_text()[-3000:]}")
            time.sleep(0.2)  # between two looks at a condition with a deadline

    def stop(self) -> float:
        """SIGTERM; the seconds until it has ended with 0."""
        began = time.monotonic()
        self.process.terminate()
        assert self.process.wait(LONG_S) == 0, self.log.read_text()[-3000:]
        return time.monotonic() - began


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`init` has run, Kafka is healthy, `topics` and `migrate` have ended."""
    if why := kafka_server.missing():
        pytest.skip(why)
    site = Site(tmp_path_factory.mktemp("compose"))
    data = site.folder / "kafka-data"
    command = [*map(site.local, site.services["init"]["command"])]
    command[command.index("--outside") + 1] = site.outside
    command += ["--inside", site.inside, "--mounted", site.local("/run/kafka"), "--data", str(data)]
    if os.geteuid():
        command += ["--no-change-owner"]
    site.services["init"]["environment"] = {}
    site.run("init", *command)
    site.run("init", *command)  # a second start changes nothing that clients know
    properties = site.folder / "secrets" / "kafka" / "server.properties"
    controller = free_port()
    text = properties.read_text().replace("9093", str(controller)).replace("://:", "://127.0.0.1:")
    properties.write_text(text.replace(":9092,", f":{site.outside.rpartition(':')[2]},"))
    try:
        kafka = site.services["kafka"]
        entry = [*map(site.local, kafka["entrypoint"])]
        broker = site.start(entry, dict(os.environ), site.folder / "kafka.log")
        broker.wait_healthy([*map(site.local, kafka["healthcheck"]["test"][1:])], dict(os.environ))
        assert "agent may write skh.pings, skh.heartbeats" in site.run("topics")
        assert "applied" in site.run("migrate")
        yield site
    finally:
        site.close()


def test_each_folder_of_secrets_is_its_containers_alone(site: Site) -> None:
    folders = {path.name: path for path in (site.folder / "secrets").iterdir()}
    assert set(folders) == {"master", *OWNERS}
    for name, path in folders.items():
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        for file in path.iterdir():
            if name in OWNERS and file.name != "ca.pem":
                assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
            if name in OWNERS and os.geteuid() == 0:
                assert (file.stat().st_uid, path.stat().st_uid) == (OWNERS[name], OWNERS[name])


@pytest.mark.parametrize("service", list(PARTS))
def test_a_service_becomes_healthy_logs_json_and_stops_within_its_grace_period(
    site: Site, service: str
) -> None:
    config = site.services[service]
    port = free_port()
    check = [*map(site.local, config["healthcheck"]["test"][1:])]
    assert check[-1] == str(PORTS[PARTS[service]]), "the part's default port"
    check[-1] = str(port)
    count = config.get("deploy", {}).get("replicas", 1)
    environments = [
        site.environment(service, port if i == 0 else free_port(), f"container-{i}")
        for i in range(count)
    ]
    running = [
        site.start(["skeletonhunter", *config["command"]], each, site.folder / f"{service}-{i}.log")
        for i, each in enumerate(environments)
    ]  # fmt: skip
    for each, environment in zip(running, environments, strict=True):
        asked = [*check[:-1], environment["SKH_HEALTH_PORT"]]
        each.wait_healthy(asked, environment)
    grace_s = float(config["stop_grace_period"].removesuffix("s"))
    for each in running:
        assert each.stop() < grace_s
        lines = each.log.read_text().splitlines()
        assert lines
        assert all(json.loads(line)["message"] for line in lines)


def test_agents_may_write_what_agents_write_and_nothing_else(site: Site) -> None:
    secrets = site.folder / "secrets" / "skeletonhunter"
    client: dict[str, Any] = {
        "bootstrap.servers": site.outside, "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN", "sasl.username": "agent",
        "sasl.password": read_secret(secrets / "agent-kafka-password").decode().strip(),
        "ssl.ca.location": str(secrets / "ca.pem"), "log_level": 0,
    }  # fmt: skip
    outcomes: dict[str, KafkaError | None] = {}

    def delivered(why: KafkaError | None, message: Message) -> None:
        outcomes[str(message.topic())] = why

    producer = Producer({**client, "message.timeout.ms": 60_000})
    for topic in ("skh.pings", "skh.heartbeats", "skh.throughput", "skh.evidence", "skh.incidents"):
        producer.produce(topic, b"x", on_delivery=delivered)
    producer.flush(LONG_S)
    refused = outcomes.pop("skh.incidents")
    assert refused is not None
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert list(outcomes.values()) == [None] * 4
    wrong = AdminClient({**client, "sasl.password": "wrong"})
    with pytest.raises(KafkaException):
        wrong.list_topics(timeout=5)


def test_an_operator_adds_a_host_and_reads_the_first_tokens(site: Site) -> None:
    folder = site.folder / "secrets" / "skeletonhunter"
    keys = site.services["keys"]
    assert keys["working_dir"] == "/run/skeletonhunter"
    host = site.run("keys", "host", "--ring", "sender-keys", "--node-sn", "host-17")
    token = site.run("keys", "token", "--tokens", "controller-tokens", "--node-sn", "host-17")
    assert host.strip()
    assert token.strip()
    assert len((folder / "controller-tokens").read_text().splitlines()) == 2
    for name in ("api-admin.token", "operator.token"):
        assert len(read_secret(folder / name)) > 20
