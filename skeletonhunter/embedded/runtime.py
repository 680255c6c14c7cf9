"""Everything in one process: broker, database, worker, sink, page and API, controller, relay."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from confluent_kafka import Consumer
from fastapi import FastAPI

from api import serving
from controller.service.tokens import TokenFile, Tokens
from localizer.options import Options as LocalizerOptions
from notifier.configuration.document import Configuration
from notifier.service import Notifier
from probers.publishing.relay import Relay
from probers.publishing.relay.stamping import AGENT_TOPICS
from schemas import topics
from schemas.documents.topology import Topology
from schemas.metrics import Source
from schemas.parameters.window_timing import DEFAULT_TIMING, WindowTiming
from skeletonhunter.embedded import loopback_agent
from skeletonhunter.errors import DirectoryInUse
from skeletonhunter.services.api_access import ApiAccess
from skeletonhunter.services.controller.service import ControllerOptions, ControllerService
from skeletonhunter.services.http_app import make_api
from store import client, migrate
from store.read_only import ReadOnlySql
from streams.admission.admission import Admission
from streams.admission.ownership import Ownership
from streams.admission.sender_keys import KeyRingFile
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.sink import site_rows
from streams.sink.sink import Sink
from streams.worker import StreamConfig, StreamWorker

#: Longer paths do not fit into a socket address (108 bytes with the closing zero on Linux) [bytes].
_MAX_SOCKET_PATH: Final = 100
#: File in ``data`` with the address of the page and API, while it runs.
URL_FILE: Final = "api.url"
#: The broker ends with the process, so that its clients' complaints about losing it say nothing.
_QUIET: Final = {"log_level": 2}


@dataclass(frozen=True)
class RuntimeOptions:
    """Configuration of an embedded runtime.

    data            directory of the database, the probe key and, without ``relay``, the socket
    host, port      address of page and API; a port that is taken is replaced by a free one,
                    0: any free one
    agents          whether agents of this machine may send over a unix socket
    relay           that socket; None: relay.sock in ``data``
    topology        None: learnt from records
    false_per_week  alarm budget: false incidents per fabric and week [count]
    timing          of panes and windows
    host_names      names besides loopback under which the API answers
    sender_keys     when given, senders must sign unless ``unsigned_senders``
    controller      options of the controller; its port is replaced too where it is taken
    tokens          of agents and operators; None: those of a file in ``data``
    api_access      who may use the API
    sql             whether the API answers SQL
    notify          whom to notify of incidents; None: no channel
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 8765
    agents: bool = True
    relay: Path | None = None
    topology: Topology | None = None
    strategy: str = "hypothesis"
    false_per_week: float = 1.0
    timing: WindowTiming = DEFAULT_TIMING
    host_names: tuple[str, ...] = ()
    sender_keys: KeyRingFile | None = None
    unsigned_senders: bool = False
    controller: ControllerOptions = field(default_factory=ControllerOptions)
    tokens: Callable[[], Tokens] | None = None
    api_access: ApiAccess = field(default_factory=ApiAccess)
    sql: bool = False
    notify: Configuration | None = None


class EmbeddedRuntime:
    """Starts and stops all parts; an async context manager.

    Once started: ``bootstrap`` (Kafka protocol), ``url`` (page and API), ``relay_path`` (where
    agents may send), ``key_path`` (probe key), ``broker``, ``worker``, ``sink``, ``controller``.
    ``wait`` returns the error that stopped the runtime.
    """

    def __init__(self, options: RuntimeOptions) -> None:
        self.options = options
        self.data = options.data
        self.relay_path = options.relay or options.data / "relay.sock"
        self.key_path = options.data / "probe.key"
        self.port_was_taken = False
        self._stop_sink = threading.Event()
        self._sink_thread: threading.Thread | None = None
        self._sink_failed: asyncio.Future[BaseException | None]
        self._notifying: asyncio.Task[None] | None = None
        self._notified: list[Source] = []
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> EmbeddedRuntime:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start all parts; when one cannot start, those started before are stopped.

        Raises DirectoryInUse, RelayError, StoreError, TokenError, OSError.
        """
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        options = self.options
        options.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._stack.callback(_lock(options.data))
        _make_key(self.key_path)
        if len(str(self.relay_path)) > _MAX_SOCKET_PATH:
            self.relay_path = self.relay_path.resolve()
        url = f"chdb:{options.data / 'chdb'}"
        api_store = await asyncio.to_thread(client.open_store, url, for_reads=True)
        self._stack.callback(api_store.close)
        await asyncio.to_thread(migrate.migrate, api_store)
        if options.topology is not None:  # it is on no topic
            rows = site_rows.topology(options.topology, time.time_ns() // 1_000_000)
            await asyncio.to_thread(api_store.insert, "topology_components", rows)
        self.broker = await asyncio.to_thread(EmbeddedBroker)
        self.bootstrap = self.broker.bootstrap
        self._start_sink(url)
        await self._start_notifier()
        self.worker = StreamWorker(worker_config(options, self.bootstrap))
        self._stack.push_async_callback(self.worker.stop)
        await self.worker.start()
        await self._start_controller()
        api = make_api(
            api_store, self.sink, self.worker, self.controller.site,
            further=[self.controller.desk.samples, *self._notified], host_names=options.host_names,
            access=options.api_access,
            people_sql=self._people_sql(url) if options.sql else None,
        )  # fmt: skip
        await self._start_api(api)
        if options.agents:
            self._start_relay()

    def _start_relay(self) -> None:
        relay = Relay(
            self.relay_path, self.broker.produce,
            allowed_topics=AGENT_TOPICS | {topics.THROUGHPUT.name},
        )  # fmt: skip
        relay.start()
        self._stack.callback(relay.close)

    def _people_sql(self, url: str) -> ReadOnlySql:
        store = client.open_store(url)
        self._stack.callback(store.close)
        return ReadOnlySql(store)

    def _start_sink(self, url: str) -> None:
        sink_store = client.open_store(url)
        self._stack.callback(sink_store.close)
        options = self.options
        ownership = None if options.sender_keys is None else Ownership(options.topology)
        self.sink = Sink(
            sink_store,
            {"bootstrap.servers": self.bootstrap, **_QUIET},
            admission=Admission(
                options.sender_keys, unsigned=options.unsigned_senders, ownership=ownership
            ),
            ownership=ownership,
            from_first=True,  # the embedded broker forgets what waits for long
        )
        loop = asyncio.get_running_loop()
        self._sink_failed = loop.create_future()

        def run() -> None:
            failed: BaseException | None = None
            try:
                self.sink.run(self._stop_sink)
            except BaseException as why:  # reported by wait(), whatever it is
                failed = why
            loop.call_soon_threadsafe(_settle, self._sink_failed, failed)

        self._sink_thread = threading.Thread(target=run, name="sink", daemon=True)
        self._sink_thread.start()
        self._stack.push_async_callback(self._end_sink)

    async def _end_sink(self) -> None:
        self._stop_sink.set()
        if self._sink_thread is not None:
            await asyncio.to_thread(self._sink_thread.join, 30)

    async def _start_notifier(self) -> None:
        """Before incidents can open: it is silent about those that it finds."""
        if self.options.notify is None:
            return
        kafka = {"bootstrap.servers": self.bootstrap, "fetch.wait.max.ms": 50, **_QUIET}
        notifier = Notifier(kafka, self.options.notify, os.environ)
        self._notifying = asyncio.create_task(notifier.run())
        self._stack.push_async_callback(_end, self._notifying)
        started = asyncio.create_task(notifier.started.wait())
        await asyncio.wait({self._notifying, started}, return_when=asyncio.FIRST_COMPLETED)
        self._notified.append(notifier.samples)

    async def _start_controller(self) -> None:
        """Beside the topics, it knows the topology of the options and this machine's loopback."""
        options = self.options
        tokens = options.tokens or TokenFile(loopback_agent.write_tokens(self.data))
        given = [] if options.topology is None else [options.topology]
        if options.tokens is None and loopback_agent.TOPOLOGY.fabric not in {
            each.fabric for each in given
        }:
            given.append(loopback_agent.TOPOLOGY)
        self.controller = ControllerService(
            {"bootstrap.servers": self.bootstrap, **_QUIET},
            tokens,
            replace(options.controller, any_port=True, topologies=tuple(given)),
            Admission(options.sender_keys, unsigned=options.unsigned_senders),
        )
        await self.controller.start()
        self._stack.push_async_callback(self.controller.stop)

    async def _start_api(self, api: FastAPI) -> None:
        listener, self.port_was_taken = serving.listen(self.options.host, self.options.port)
        host, port = listener.getsockname()[:2]
        self.url = f"http://{host}:{port}/"
        address = self.data / URL_FILE
        address.write_text(self.url)
        self._stack.callback(lambda: address.unlink(missing_ok=True))
        server = serving.Server(serving.config(api))
        answering = asyncio.create_task(server.serve(sockets=[listener]))

        async def end() -> None:
            server.should_exit = True
            await answering
            listener.close()

        self._stack.push_async_callback(end)

    async def wait(self) -> BaseException:
        """Wait until a part fails by itself; returns the error that stopped it."""
        worker_ended = asyncio.create_task(self.worker.wait())
        controller_ended = asyncio.create_task(self.controller.ended())
        parts: set[asyncio.Future[Any]] = {worker_ended, controller_ended, self._sink_failed}
        if self._notifying is not None:
            parts.add(self._notifying)
        await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        if controller_ended.done() and (stopped := controller_ended.result()) is not None:
            return stopped
        if self._notifying is not None and self._notifying.done():
            return self._notifying.exception() or RuntimeError("the notifier stopped by itself")
        if self._sink_failed.done() and (why := self._sink_failed.result()) is not None:
            return why
        return self.worker.crashed or RuntimeError("the stream worker stopped by itself")

    async def stop(self) -> None:
        """Stop the parts in reverse order of starting; the sink stores what it has read."""
        await self._stack.aclose()

    def consumer(self, *names: str, group: str = "skh-watch") -> Consumer:
        """A consumer of some topics, from their beginning."""
        consumer = Consumer({
            "bootstrap.servers": self.bootstrap, "group.id": group,
            "auto.offset.reset": "earliest", "enable.auto.commit": False, "fetch.wait.max.ms": 50,
        })  # fmt: skip
        consumer.subscribe(list(names))
        return consumer


def worker_config(options: RuntimeOptions, bootstrap: str) -> StreamConfig:
    """The stream worker's configuration in an embedded runtime."""
    return StreamConfig(
        bootstrap,
        kafka=_QUIET,
        fetch_wait_ms=20,
        topology=options.topology,
        sender_keys=options.sender_keys,
        unsigned_senders=options.unsigned_senders,
        options=LocalizerOptions(
            strategy=options.strategy,
            false_per_week=options.false_per_week,
            timing=options.timing,
        ),
    )


def _lock(data: Path) -> Callable[[], None]:
    """Lock the directory for this process; raises DirectoryInUse. Returns the release."""
    file = (data / "lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise DirectoryInUse(data) from None
    return file.close


def _make_key(path: Path) -> None:
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32) + "\n")


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _settle(future: asyncio.Future[BaseException | None], value: BaseException | None) -> None:
    if not future.done():
        future.set_result(value)
