"""The stream worker as a service: ping records in, windows, anomalies and incidents out."""

from __future__ import annotations

import asyncio
from pathlib import Path

from localizer.options import Options
from schemas.parameters.window_timing import WindowTiming
from skeletonhunter import terminal
from skeletonhunter.arguments import known_strategy, read_topology
from skeletonhunter.services import health
from skeletonhunter.services.broker import client_settings
from skeletonhunter.services.http_app import worker_monitoring
from skeletonhunter.services.lag_notice import watch_lag
from skeletonhunter.services.lifecycle import command_error, stop_signals, until_stopped
from skeletonhunter.services.sender_keys import key_ring
from skeletonhunter.settings import Settings
from streams.worker import StreamConfig, StreamWorker


def stream_config(config: Settings, topology: Path | None = None) -> StreamConfig:
    """A stream worker's configuration; raises BadSettings and BadInput.

    topology  given on the command line; None: that of the settings
    """
    return StreamConfig(
        config.require_kafka(),
        group=config.group,
        instance=config.instance,
        topology=read_topology(topology or config.topology),
        options=Options(
            strategy=known_strategy(config.strategy, "SKH_STRATEGY"),
            false_per_week=config.false_per_week,
            timing=WindowTiming(lateness_s=config.lateness_s),
        ),
        session_s=config.session_s,
        kafka=client_settings(config, brokers=False),
        sender_keys=key_ring(config, config.require_kafka()),
        unsigned_senders=config.unsigned_senders == "accept",
    )


async def serve(settings: Settings, config: StreamConfig) -> int:
    """Run a stream worker until it is stopped; raises the error that ended it."""
    worker = StreamWorker(config)
    with health.served(settings, "stream", worker_monitoring(worker)):
        await worker.start()
        stop = stop_signals()
        terminal.announce(f"judging {config.bootstrap} as a member of {config.group}")
        lag = asyncio.create_task(
            watch_lag(lambda: worker.lag_s, lambda: worker.catching_up, terminal.announce)
        )
        try:
            failure = await until_stopped(lambda: _failed(worker), stop)
        finally:
            lag.cancel()
            await worker.stop()
    if failure is not None:
        raise command_error(failure) from failure
    return 0


async def _failed(worker: StreamWorker) -> BaseException:
    await worker.wait()
    return worker.crashed or RuntimeError("the worker stopped by itself")
