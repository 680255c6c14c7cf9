"""``stream``, ``sink``, ``api``: one part of the house each, against Kafka and ClickHouse."""

from __future__ import annotations

import asyncio
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skeletonhunter.errors import DependencyUnreachable

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

        config = _settings()
        return running.run(_stream(stream_config(config, topology)))

    @app.command(epilog=f"Example: {_EXAMPLE} skeletonhunter sink")
    def sink() -> int:
        """Store records, windows, anomalies, incidents and dead letters in ClickHouse."""
        config = _settings()
        return _sink(config)

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


def _settings() -> Settings:
    """Settings of a part that needs both services, and Kafka reached once."""
    from skeletonhunter import running, settings
    from streams.broker import check_reachable

    config = settings.read()
    bootstrap, _ = config.require_services()
    check_reachable(bootstrap)
    running.log_to_stderr(config.log_level)
    return config


def stream_config(config: Settings, topology: Path | None = None) -> StreamConfig:
    """A stream worker's configuration."""
    from localizer.state import Options
    from skeletonhunter.up import read_topology
    from streams.app import StreamConfig
    from streams.windows import Timing

    return StreamConfig(
        config.require_kafka(),
        group=config.group,
        topology=read_topology(topology or config.topology),
        timing=Timing(lateness_s=config.lateness_s),
        options=Options(
            strategy=config.strategy,
            false_per_week=config.false_per_week,
            lateness_s=config.lateness_s,
        ),
        session_s=config.session_s,
        kafka=config.kafka_options,
    )


async def _stream(config: StreamConfig) -> int:
    from skeletonhunter import lag
    from skeletonhunter.running import until_stopped
    from skeletonhunter.up import failure
    from streams.app import StreamWorker

    worker = StreamWorker(config)
    await worker.start()
    typer.echo(f"judging {config.bootstrap} as a member of {config.group}")

    async def died() -> BaseException | None:
        await worker.wait()
        return worker.crashed or RuntimeError("the worker stopped by itself")

    telling = asyncio.create_task(
        lag.tell(lambda: worker.lag_s, lambda: worker.catching_up, typer.echo)
    )
    try:
        why_not = await until_stopped(died)
    finally:
        telling.cancel()
        await worker.stop()
    if why_not is not None:
        raise failure(why_not) from why_not
    return 0


def _sink(config: Settings) -> int:
    from confluent_kafka import KafkaException

    from streams.sink import Sink
    from streams.store import open_store

    store = open_store(config.require_clickhouse())
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    typer.echo(f"storing what {config.kafka} says in {store.name}")
    try:
        Sink(store, config.librdkafka()).run(stop)
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
    typer.echo(f"page http://{host}:{bound}/ from {store.name}")

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
