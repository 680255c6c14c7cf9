"""Apache Kafka (KRaft), one node or more, on loopback: no test has to trust an imitation."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from testbed.services.ports import free_port

ROOT = Path(__file__).parents[2]
JARS = ROOT / ".cache" / "kafka"

_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
_PROPERTIES = """
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
num.network.threads=2
num.io.threads=2
auto.create.topics.enable=false
default.replication.factor={copies}
min.insync.replicas={in_sync}
offsets.topic.replication.factor={copies}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={copies}
transaction.state.log.min.isr={in_sync}
transaction.state.log.num.partitions=2
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.cleaner.dedupe.buffer.size=2097152
"""
#: Two more listeners: user and password (SCRAM) over TLS, and client certificates.
_SECURE = """
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller},\
SASL_SSL://127.0.0.1:{scram},SSL://127.0.0.1:{mtls}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker},SASL_SSL://127.0.0.1:{scram},\
SSL://127.0.0.1:{mtls}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.ssl.ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={folder}/server.both.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/ca.pem
"""
USER, PASSWORD = "skh", "correct-horse-battery"


def missing() -> str | None:
    """Why Apache Kafka cannot be started here, or None."""
    if shutil.which("java") is None:
        return "java is not installed"
    if not list(JARS.glob("kafka_2.13-*.jar")):
        return "Apache Kafka's jars are not in .cache/kafka (scripts/fetch-kafka.sh fetches them)"
    return None


class Ports(NamedTuple):
    """Where a node listens: for clients, and for the other nodes' controllers."""

    broker: int
    controller: int


class KafkaServer:
    """Starts on construction; ``stop`` ends that process and no other."""

    def __init__(
        self,
        folder: Path,
        *,
        secure: bool = False,
        node: int = 1,
        nodes: Sequence[Ports] = (),
    ) -> None:
        """secure  also on ``scram`` (USER, PASSWORD) and ``mtls``; certificates in ``folder``
        node   its number in a cluster, from 1
        nodes  ports of all nodes of the cluster, which ``cluster`` starts; empty: it is alone
        """
        self.folder = folder
        alone = not nodes
        nodes = nodes or [Ports(free_port(), free_port())]
        broker, controller = nodes[node - 1]
        scram, mtls = free_port(), free_port()
        self.bootstrap = f"127.0.0.1:{broker}"
        self.scram, self.mtls = f"127.0.0.1:{scram}", f"127.0.0.1:{mtls}"
        self._settings = settings = folder / "server.properties"
        self._port = broker
        text = _PROPERTIES + (_SECURE if secure else "")
        settings.write_text(
            text.format(
                broker=broker, controller=controller, scram=scram, mtls=mtls, folder=folder,
                data=folder / "data", node=node, copies=len(nodes), in_sync=len(nodes) // 2 + 1,
                voters=",".join(f"{n}@127.0.0.1:{at.controller}" for n, at in enumerate(nodes, 1)),
            )
        )  # fmt: skip
        self._log = folder / "kafka.log"
        users = []
        if secure:
            certificates(folder)
            users = ["--add-scram", f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"]
        self._java(
            "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings), *users
        ).wait(300)
        if alone:
            self.start()
        else:
            self.launch()

    def start(self) -> None:
        """Start, or start again after ``stop``, with the messages of before."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """As ``start``, but do not wait: a cluster answers when most of its nodes run."""
        self.process = self._java("kafka.Kafka", str(self._settings))

    def kill(self) -> None:
        """End it at once (SIGKILL); its files stay."""
        self.process.kill()
        self.process.wait(30)

    def _java(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / "kafka.log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603 — fixed arguments
                [  # noqa: S607 — whichever is on the path
                    "java",
                    "-Xms128m", "-Xmx384m", "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                    "-cp", f"{JARS}/*", name, *arguments,
                ],
                stdout=log, stderr=log, env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip

    def wait(self) -> None:
        """Return when it listens; raises RuntimeError when it ends instead."""
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
            except OSError:
                time.sleep(0.1)  # between two looks at a condition with a deadline
            else:
                return
        self.stop()
        raise RuntimeError(f"Apache Kafka did not start:\n{self._log.read_text()[-3000:]}")

    def pause(self) -> None:
        """Stop its execution (SIGSTOP) until ``resume``."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue its execution."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """SIGTERM, then SIGKILL after ten seconds."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)


def cluster(folder: Path, size: int = 3) -> list[KafkaServer]:
    """Nodes of one cluster, which listen; each topic has a copy on each, and a message counts as
    stored when most of them have it.
    """
    ports = [Ports(free_port(), free_port()) for _ in range(size)]
    nodes: list[KafkaServer] = []
    try:
        for number in range(1, size + 1):
            own = folder / str(number)
            own.mkdir()
            nodes.append(KafkaServer(own, node=number, nodes=ports))
        for each in nodes:
            each.wait()
    except BaseException:
        for each in nodes:
            each.stop()
        raise
    return nodes


def certificates(folder: Path) -> None:
    """ca.pem, and server/client .pem and .key that it signed; server.both.pem for Java."""
    subprocess.run(
        ["openssl",  # noqa: S607 — whichever is on the path
         "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=test-ca", "-keyout", "ca.key", "-out", "ca.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    for name in ("server", "client"):
        (folder / "ext").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        for arguments in (
            ["req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout",
             f"{name}.key", "-out", f"{name}.csr"],
            ["x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
             "-CAcreateserial", "-days", "2", "-extfile", "ext", "-out", f"{name}.pem"],
        ):  # fmt: skip
            subprocess.run(  # noqa: S603 — as above
                ["openssl", *arguments],  # noqa: S607
                cwd=folder,
                check=True,
                capture_output=True,
            )
    both = (folder / "server.key").read_text() + (folder / "server.pem").read_text()
    (folder / "server.both.pem").write_text(both)
