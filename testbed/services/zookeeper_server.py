"""A single-node Apache ZooKeeper on loopback, where replicated tables of ClickHouse are written.

Its jars come with those of Apache Kafka (``kafka_server.missing`` says whether they are there).
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

from testbed.services.kafka_server import JARS
from testbed.services.ports import free_port

_CONFIGURATION = """
tickTime=2000
dataDir={data}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
"""
_READY_S = 120


class ZooKeeperServer:
    """Starts on construction; ``stop`` ends that process and no other."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        settings = folder / "zoo.cfg"
        settings.write_text(_CONFIGURATION.format(data=folder / "zookeeper", port=self.port))
        self._log = folder / "zookeeper.log"
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 — fixed arguments
                [  # noqa: S607 — whichever is on the path
                    "java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{JARS}/*",
                    "org.apache.zookeeper.server.ZooKeeperServerMain", str(settings),
                ],
                stdout=log, stderr=log, env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.1)  # between two looks at a condition with a deadline
            else:
                return
        self.stop()
        raise RuntimeError(f"ZooKeeper did not start:\n{self._log.read_text()[-3000:]}")

    def stop(self) -> None:
        """SIGTERM, then SIGKILL after ten seconds."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
