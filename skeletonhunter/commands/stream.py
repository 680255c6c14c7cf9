"""``stream``, ``sink``, ``api``: one part each, against Kafka and ClickHouse."""

from __future__ import annotations

import asyncio
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput, BadSettings, DependencyUnreachable

if TYPE_CHECKING:
    from skeletonhunter.settings import Settings
    from streams.worker import StreamConfig, StreamWorker

_KAFKA = "SKH_KAFKA=kafka:9092"
_CLICKHOUSE = "SKH_CLICKHOUSE_URL=http://default@clickhouse:8123/default"


def register(app: typer.Typer) -> None:
    """Add ``stream``, ``sink`` and ``api``."""

    @app.command(epilog=f"Example: {_KAFKA} skeletonhunter stream")
    def stream(
        topology: Annotated[
            Path | None, typer.Option(help="The fabric; without it, it is learnt from records.")
        ] = None,
    ) -> int:
        """Judge pings: windows, anomalies and incidents. Start as many as there is work for."""
        from streams import event_loop

        config = _settings("kafka")
        return event_loop.run(_stream(config, stream_config(config, topology)))

    @app.command(epilog=f"Example: {_KAFKA} {_CLICKHOUSE} skeletonhunter sink")
    def sink(
        topology: Annotated[
            Path | None,
            typer.Option(help="The fabric, as for stream: who may send for which container."),
        ] = None,
    ) -> int:
        """Store records, windows, anomalies, incidents and dead letters in ClickHouse."""
        config = _settings("kafka", "clickhouse")
        return _sink(config, topology)

    @app.command(epilog=f"Example: {_CLICKHOUSE} skeletonhunter api")
    def api(
        port: Annotated[
            int | None, typer.Option(min=0, max=65535, help="Port of the page; 0: any free one.")
        ] = None,
    ) -> int:
        """Serve the page and the HTTP API."""
        from streams import event_loop

        config = _settings("clickhouse")
        return event_loop.run(_api(config, config.api_port if port is None else port))


def _settings(*needs: Literal["kafka", "clickhouse"]) -> Settings:
    """Settings of a part that needs these services, and Kafka, if it does, reached once."""
    from skeletonhunter import running, settings
    from skeletonhunter.senders import require_keys

    config = settings.read()
    config.require(*needs)
    if "kafka" in needs:
        require_keys(config, config.require_kafka())  # all parts that need it read agents' messages
        check_broker(config)
    running.log_to_stderr(config.log_level)
    return config


def check_broker(config: Settings) -> None:
    """Reach Kafka with its security settings; errors are the command's, or ConnectionError."""
    from streams.errors import UnusableKafkaOption
    from streams.kafka import admin

    try:
        admin.check(config.librdkafka())
    except UnusableKafkaOption as why:
        raise BadSettings(f"SKH_KAFKA_OPTIONS: {why}") from why


def stream_config(config: Settings, topology: Path | None = None) -> StreamConfig:
    """A stream worker's configuration."""
    from localizer.state import Options
    from skeletonhunter.commands.up import known_strategy, read_topology
    from skeletonhunter.senders import key_ring
    from streams.windowing.windower import Timing
    from streams.worker import StreamConfig

    return StreamConfig(
        config.require_kafka(),
        group=config.group,
        topology=read_topology(topology or config.topology),
        timing=Timing(lateness_s=config.lateness_s),
        options=Options(
            strategy=known_strategy(config.strategy, "SKH_STRATEGY"),
            false_per_week=config.false_per_week,
            lateness_s=config.lateness_s,
        ),
        session_s=config.session_s,
        kafka=config.kafka_settings(),
        sender_keys=key_ring(config, config.require_kafka()),
        unsigned_senders=config.unsigned_senders == "accept",
    )


async def _stream(settings: Settings, config: StreamConfig) -> int:
    from skeletonhunter import health
    from skeletonhunter.web import worker_probes
    from streams.worker import StreamWorker

    worker = StreamWorker(config)
    with health.served(settings, "stream", worker_probes(worker)):
        return await _judge(worker)


async def _judge(worker: StreamWorker) -> int:
    from skeletonhunter import lag
    from skeletonhunter.commands.up import failure
    from skeletonhunter.running import stop_signals, until_stopped

    config = worker.config
    await worker.start()
    stop = stop_signals()
    terminal.echo(f"judging {config.bootstrap} as a member of {config.group}")

    async def died() -> BaseException | None:
        await worker.wait()
        return worker.crashed or RuntimeError("the worker stopped by itself")

    telling = asyncio.create_task(
        lag.tell(lambda: worker.lag_s, lambda: worker.catching_up, terminal.echo)
    )
    try:
        why_not = await until_stopped(died, stop)
    finally:
        telling.cancel()
        await worker.stop()
    if why_not is not None:
        raise failure(why_not) from why_not
    return 0


def _sink(config: Settings, topology: Path | None) -> int:
    from confluent_kafka import KafkaException

    from skeletonhunter import health
    from skeletonhunter.commands.up import read_topology
    from skeletonhunter.senders import key_ring
    from skeletonhunter.web import sink_probes
    from store.client import open_store
    from streams.admission.admission import Admission
    from streams.admission.ownership import Ownership
    from streams.sink.sink import Sink

    ring = key_ring(config, config.require_kafka())
    ownership = None if ring is None else Ownership(read_topology(topology or config.topology))
    accept = config.unsigned_senders == "accept"
    admission = Admission(ring, unsigned=accept, ownership=ownership)
    store = open_store(config.require_clickhouse())
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    terminal.echo(f"storing what {config.kafka} says in {store.name}")
    sink = Sink(store, config.librdkafka(), admission=admission, ownership=ownership)
    try:
        with health.served(config, "sink", sink_probes(sink)):
            sink.run(stop)
    except KafkaException as why:
        raise DependencyUnreachable(f"{config.kafka}: {why.args[0]}") from why
    finally:
        store.close()
    return 0


async def _api(config: Settings, port: int) -> int:
    from api.serving import Server, listen
    from api.serving import config as limits
    from skeletonhunter import health
    from skeletonhunter.running import stop_signals, until_stopped
    from skeletonhunter.web import make_api
    from store.client import open_store

    url = config.require_clickhouse()
    store = await asyncio.to_thread(open_store, url, for_reads=True)
    app = make_api(store, names=config.api_names)
    try:
        listener, moved = listen(config.api_host, port)
    except OSError as why:
        raise BadInput(f"SKH_API_HOST: {config.api_host}:{port}: {why.strerror}") from why
    if moved and port:
        typer.echo(f"port {port} is taken; another one was chosen")
    stop = stop_signals()
    server = Server(limits(app))
    host, bound = listener.getsockname()[:2]
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    terminal.echo(f"page http://{host}:{bound}/ from {store.name}")

    async def ended() -> BaseException | None:
        await asyncio.wait({serving})
        return RuntimeError("the HTTP server stopped by itself")

    try:
        with health.served(config, "api", app.state.probes):
            why_not = await until_stopped(ended, stop)
    finally:
        server.should_exit = True
        await serving
        store.close()
    if why_not is not None:
        raise why_not
    return 0
