"""A single-node Apache Kafka (KRaft) on loopback, for tests that must not trust an imitation."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
JARS = ROOT / ".cache" / "kafka"

_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
num.network.threads=2
num.io.threads=2
auto.create.topics.enable=false
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.cleaner.dedupe.buffer.size=2097152
"""


def missing() -> str | None:
    """Why Apache Kafka cannot be started here, or None."""
    if shutil.which("java") is None:
        return "java is not installed"
    if not list(JARS.glob("kafka_2.13-*.jar")):
        return "Apache Kafka's jars are not in .cache/kafka (scripts/fetch-kafka.sh fetches them)"
    return None


class KafkaServer:
    """Starts on construction; ``stop`` ends that process and no other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        broker, controller = _free_port(), _free_port()
        self.bootstrap = f"127.0.0.1:{broker}"
        settings = folder / "server.properties"
        settings.write_text(
            _PROPERTIES.format(broker=broker, controller=controller, data=folder / "data")
        )
        self._log = folder / "kafka.log"
        self._java("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)).wait(
            60
        )
        self.process = self._java("kafka.Kafka", str(settings))
        self._wait(broker)

    def _java(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / "kafka.log").open("ab") as log:
            return subprocess.Popen(
                [
                    "java", "-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                    "-cp", f"{JARS}/*", name, *arguments,
                ],
                stdout=log, stderr=log, env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip

    def _wait(self, port: int) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                time.sleep(0.1)  # between two looks at a condition with a deadline
            else:
                return
        self.stop()
        raise RuntimeError(f"Apache Kafka did not start:\n{self._log.read_text()[-3000:]}")

    def stop(self) -> None:
        """SIGTERM, then SIGKILL after ten seconds."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
