"""``stream``, ``sink``, ``api``: one part of the house each, against Kafka and ClickHouse."""

from __future__ import annotations

import asyncio
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadSettings, DependencyUnreachable

if TYPE_CHECKING:
    from skeletonhunter.settings import Settings
    from streams.app import StreamConfig

_EXAMPLE = "SKH_KAFKA=kafka:9092 SKH_CLICKHOUSE_URL=http://default@clickhouse:8123/default"


def register(app: typer.Typer) -> None:
    """Add ``stream``, ``sink`` and ``api``."""

    @app.command(epilog=f"Example: {_EXAMPLE} skeletonhunter stream")
    def stream(
        topology: Annotated[
            Path | None, typer.Option(help="The fabric; without it, it is learnt from records.")
        ] = None,
    ) -> int:
        """Judge pings: windows, anomalies and incidents. Start as many as there is work for."""
        from skeletonhunter import running

        config = _settings(senders=True)
        return running.run(_stream(stream_config(config, topology)))

    @app.command(epilog=f"Example: {_EXAMPLE} skeletonhunter sink")
    def sink(
        topology: Annotated[
            Path | None,
            typer.Option(help="The fabric, as for stream: who may send for which container."),
        ] = None,
    ) -> int:
        """Store records, windows, anomalies, incidents and dead letters in ClickHouse."""
        config = _settings(senders=True)
        return _sink(config, topology)

    @app.command(epilog=f"Example: {_EXAMPLE} skeletonhunter api")
    def api(
        port: Annotated[
            int | None, typer.Option(min=0, max=65535, help="Port of the page; 0: any free one.")
        ] = None,
    ) -> int:
        """Serve the page and the HTTP API."""
        from skeletonhunter import running

        config = _settings()
        return running.run(_api(config, config.api_port if port is None else port))


def _settings(*, senders: bool = False) -> Settings:
    """Settings of a part that needs both services, and Kafka reached once.

    senders  the part reads what agents send
    """
    from skeletonhunter import running, settings
    from skeletonhunter.senders import require_keys

    config = settings.read()
    bootstrap, _ = config.require_services()
    if senders:
        require_keys(config, bootstrap)
    check_broker(config)
    running.log_to_stderr(config.log_level)
    return config


def check_broker(config: Settings) -> None:
    """Reach Kafka with its security settings; errors are the command's, or ConnectionError."""
    from streams import broker
    from streams.errors import UnusableKafkaOption

    try:
        broker.check(config.librdkafka())
    except UnusableKafkaOption as why:
        raise BadSettings(f"SKH_KAFKA_OPTIONS: {why}") from why


def stream_config(config: Settings, topology: Path | None = None) -> StreamConfig:
    """A stream worker's configuration."""
    from localizer.state import Options
    from skeletonhunter.senders import key_ring
    from skeletonhunter.up import known_strategy, read_topology
    from streams.app import StreamConfig
    from streams.windows import Timing

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


async def _stream(config: StreamConfig) -> int:
    from skeletonhunter import lag
    from skeletonhunter.running import until_stopped
    from skeletonhunter.up import failure
    from streams.app import StreamWorker

    worker = StreamWorker(config)
    await worker.start()
    terminal.echo(f"judging {config.bootstrap} as a member of {config.group}")

    async def died() -> BaseException | None:
        await worker.wait()
        return worker.crashed or RuntimeError("the worker stopped by itself")

    telling = asyncio.create_task(lag.tell(lambda: worker.lag_s, terminal.echo))
    try:
        why_not = await until_stopped(died)
    finally:
        telling.cancel()
        await worker.stop()
    if why_not is not None:
        raise failure(why_not) from why_not
    return 0


def _sink(config: Settings, topology: Path | None) -> int:
    from confluent_kafka import KafkaException

    from skeletonhunter.senders import key_ring
    from skeletonhunter.up import read_topology
    from streams.admission import Admission
    from streams.ownership import Ownership
    from streams.sink import Sink
    from streams.store import open_store

    ring = key_ring(config, config.require_kafka())
    ownership = None if ring is None else Ownership(read_topology(topology or config.topology))
    accept = config.unsigned_senders == "accept"
    admission = Admission(ring, unsigned=accept, ownership=ownership)
    store = open_store(config.require_clickhouse())
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    terminal.echo(f"storing what {config.kafka} says in {store.name}")
    try:
        sink = Sink(store, config.librdkafka(), admission=admission, ownership=ownership)
        sink.run(stop)
    except KafkaException as why:
        raise DependencyUnreachable(f"{config.kafka}: {why.args[0]}") from why
    finally:
        store.close()
    return 0


async def _api(config: Settings, port: int) -> int:
    import uvicorn

    from skeletonhunter.embedded import Server, listen
    from skeletonhunter.running import until_stopped
    from skeletonhunter.web import make_api
    from streams.store import open_store

    store = await asyncio.to_thread(open_store, config.require_clickhouse())
    listener, _ = listen(config.api_host, port)
    server = Server(
        uvicorn.Config(
            make_api(store, names=config.api_names),
            log_level="error",
            lifespan="off",
            access_log=False,
        )
    )
    host, bound = listener.getsockname()[:2]
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    terminal.echo(f"page http://{host}:{bound}/ from {store.name}")

    async def ended() -> BaseException | None:
        await asyncio.wait({serving})
        return RuntimeError("the HTTP server stopped by itself")

    try:
        why_not = await until_stopped(ended)
    finally:
        server.should_exit = True
        await serving
        store.close()
    if why_not is not None:
        raise why_not
    return 0
