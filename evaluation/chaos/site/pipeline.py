"""The pipeline of a site as processes on loopback, and what can happen to them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from evaluation.chaos.site.brokers import Brokers
from evaluation.chaos.site.process import COMMAND, LONG_S, Process, Unfinished, wait_for
from evaluation.chaos.site.replicas import Replicas
from schemas.documents.topology import Topology
from testbed.services.memory_limit import MemoryLimit
from testbed.services.ports import free_port
from testbed.services.small_disk import SmallDisk

Release = Literal["this", "other"]
_STORE: Final = "testbed.services.store_server"  # stands for ClickHouse, so of no release
_DISK_MB: Final = 512
#: New memory that a worker needs within seconds.
_ALMOST_NO_KB: Final = 256
_INSTANCE: Final = "SKH_INSTANCE"
_QUERY: Final = """
import json, sys
from store.client import open_store
store = open_store(sys.argv[1])
print(json.dumps([store.rows(sql) for sql in sys.argv[2:]], default=str))
"""

#: Whose data are on a small file system of their own.
SmallDisks = Literal["broker", "store"] | None


class Pipeline:
    """Broker, store, sink and workers; ``close`` ends all of them.

    folder    for logs and data, empty
    topology  of the fabric
    brokers   of one cluster
    small_disk  whose data are on a file system of their own, which ``disk`` fills
    before    which of two releases is started, until ``go_to``
    other     tree of the other release; None: it is this one too
    """

    def __init__(
        self,
        folder: Path,
        topology: Topology,
        *,
        brokers: int = 1,
        small_disk: SmallDisks = None,
        before: Release = "this",
        other: Path | None = None,
    ) -> None:
        self.folder = folder
        self._trees: dict[Release, Path | None] = {"this": None, "other": other}
        self._tree = self._trees[before]
        self._fabric = topology
        self._topology = folder / "topology.json"
        self._topology.write_bytes(msgspec.json.encode(topology))
        self._started = 0
        self.workers: list[Process] = []
        self.all: list[Process] = []
        self.replicas: Replicas | None = None
        self._url = f"chdb:{folder / 'chdb'}"
        self._port = free_port()
        self.disk = self._small_disk(small_disk)
        self.brokers = Brokers(folder / "kafka", brokers)
        try:
            self.brokers.start()
            self._migrate(self._url)
            self.store = self.start_store()
            self.sink = self.start_sink()
        except BaseException:
            self.close()
            raise

    def _small_disk(self, whose: SmallDisks) -> SmallDisk | None:
        if whose is None:
            return None
        data = {"broker": self.folder / "kafka" / "data", "store": self.folder / "chdb"}
        return SmallDisk(data[whose], _DISK_MB)

    # --- processes ------------------------------------------------------------------------------

    def run(self, name: str, module: str, *arguments: str, **environment: str) -> Process:
        """A process of the release that is started now, with a log of this name."""
        self._started += 1
        log = self.folder / f"{self._started:02d}-{name}.log"
        environment = {"SKH_HEALTH_PORT": "0", **environment}
        found = Process(
            module, arguments, environment, log, None if module == _STORE else self._tree
        )
        self.all.append(found)
        return found

    def start_store(self) -> Process:
        """The store's engine behind HTTP, at the same address; returns when it listens."""
        self.store = self.run("store", _STORE, self._url, str(self._port))
        wait_for(self._store_listens, "the store listens")
        return self.store

    def _store_listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        return True

    def start_sink(self) -> Process:
        """A sink of the broker's topics."""
        self.sink = self.run("sink", COMMAND, "sink", **self.environment())
        return self.sink

    def start_worker(
        self, module: str = COMMAND, *before: str, instance: str | None = None
    ) -> Process:
        """One more stream worker.

        before    arguments of another module than the command
        instance  its name in the group, see the setting SKH_INSTANCE; None: it has none
        """
        named = {} if instance is None else {_INSTANCE: instance}
        worker = self.run(
            "worker", module, *before, "stream", "--topology", str(self._topology),
            **self.environment(), **named,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def start_replicas(self) -> Replicas:
        """Two APIs and two controllers, and who calls them; returns when they answer."""
        self._to_its_end(
            "topology", "topology", "publish", str(self._topology), SKH_KAFKA=self.brokers.bootstrap
        )
        hosts = [each.node_sn for each in self._fabric.hosts]
        self.replicas = Replicas(
            self.run, self.folder, self.environment(), self._fabric.fabric, hosts
        )
        return self.replicas

    def roll_api(self) -> None:
        """Replace the older of two APIs, see ``Replicas``."""
        if self.replicas is not None:
            self.replicas.roll_api()

    def roll_controller(self) -> None:
        """Replace the controller that leads, see ``Replicas``."""
        if self.replicas is not None:
            self.replicas.roll_controller()

    def replace_worker(self, index: int = 0) -> None:
        """Kill a worker (SIGKILL); a supervisor would start the next one at once, so do we."""
        killed = self.workers.pop(index)
        killed.kill()
        self.start_worker(instance=killed.environment.get(_INSTANCE))

    def replace_sink(self) -> None:
        """Kill the sink and start the next one."""
        self.sink.kill()
        self.start_sink()

    def go_to(self, release: Release) -> None:
        """Start that release from now on; if it is this one, with its migrations first."""
        self._tree = self._trees[release]
        if release == "this":
            self._migrate(self.environment()["SKH_CLICKHOUSE_URL"])

    def _migrate(self, url: str) -> None:
        self._to_its_end("migrate", "migrate", "apply", SKH_CLICKHOUSE_URL=url)

    def _to_its_end(self, name: str, *arguments: str, **environment: str) -> None:
        done = self.run(name, COMMAND, *arguments, **environment)
        if done.process.wait(LONG_S):
            raise Unfinished(done.log.read_text()[-1000:])

    def roll_worker(self) -> None:
        """Ask the oldest worker to end (SIGTERM), and start the next one."""
        ended = self.workers.pop(0)
        ended.end()
        self.start_worker(instance=ended.environment.get(_INSTANCE))

    def roll_sink(self) -> None:
        """The same with the sink."""
        self.sink.end()
        self.start_sink()

    def supervise(self) -> int:
        """Start again what has ended by itself, as systemd or Kubernetes does; returns how many."""
        ended = [each for each in self.workers if not each.running]
        for each in ended:
            self.workers.remove(each)
            self.start_worker(instance=each.environment.get(_INSTANCE))
        if not self.sink.running:
            self.start_sink()
            return len(ended) + 1
        return len(ended)

    def last_words(self) -> str:
        """The last line of what ended by itself most recently."""
        ended = [each for each in self.all if (each.process.poll() or 0) > 0]
        lines = ended[-1].log.read_text().splitlines() if ended else []
        return lines[-1] if lines else "-"

    def environment(self) -> dict[str, str]:
        """Where broker and store are."""
        return {
            "SKH_KAFKA": self.brokers.bootstrap,
            "SKH_CLICKHOUSE_URL": f"http://127.0.0.1:{self._port}/default",
        }

    # --- what can happen to them ----------------------------------------------------------------

    def exhaust_memory(self) -> None:
        """Let a worker reach the limit of its memory: the kernel ends it; the next one starts."""
        worker = self.workers.pop(0)
        with MemoryLimit(f"skh-chaos-{os.getpid()}", _ALMOST_NO_KB) as limit:
            limit.add(worker.process.pid)
            wait_for(lambda: not worker.running, "the kernel ends a worker without memory")
        self.start_worker(instance=worker.environment.get(_INSTANCE))

    def fill_disk(self) -> None:
        """Take all space of the small file system."""
        if self.disk is not None:
            self.disk.fill()

    def free_disk(self) -> None:
        """Give it back, and start the broker if it has ended of it."""
        if self.disk is not None:
            self.disk.free()
        self.brokers.restart()

    def store_faults(self, **faults: float | bool) -> None:
        """Set faults of the store, see ``testbed.services.store_server.Faults``; none: heal."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/fault", json.dumps(faults).encode(), method="POST"
        )
        urllib.request.urlopen(request, timeout=LONG_S).close()  # noqa: S310 — loopback

    # --- questions ------------------------------------------------------------------------------

    def judging(self, caught_up_s: float = 5.0) -> bool:
        """Whether every worker is ready, some have read, and none is behind the present."""
        read = 0.0
        for worker in self.workers:
            found = worker.metrics() if worker.ready() else None
            if found is None or found["skh_stream_lag_seconds"] >= caught_up_s:
                return False
            read += found['skh_stream_messages_total{topic="skh.windows"}']
        return read > 0

    def workers_metric(self, name: str) -> float:
        """Sum over the workers that answer."""
        found = [worker.metrics() for worker in self.workers]
        return sum(each[name] for each in found if each is not None)

    def query(self, *statements: str) -> list[list[dict[str, Any]]]:
        """Results of statements; the store must have ended, for its files are one process's."""
        done = subprocess.run(  # noqa: S603 — our own interpreter
            [sys.executable, "-c", _QUERY, self._url, *statements],
            check=True, capture_output=True, text=True, env=os.environ,
        )  # fmt: skip
        found: list[list[dict[str, Any]]] = json.loads(done.stdout)
        return found

    def close(self) -> None:
        """End every process."""
        if self.replicas is not None:
            self.replicas.close()
        for each in self.all:
            if each.running:
                each.kill()
        self.brokers.close()
        if self.disk is not None:
            self.disk.close()
