"""``skeletonhunter up``: everything in one process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from controller.service.tokens import TokenFile
    from skeletonhunter.embedded.runtime import EmbeddedRuntime, RuntimeOptions
    from skeletonhunter.settings import Settings


def register(app: typer.Typer) -> None:
    """Add ``up``."""

    @app.command(epilog="Example: skeletonhunter up --topology topology.json --port 8765")
    def up(
        relay: Annotated[
            Path | None,
            typer.Option(help="Unix socket for agents; default relay.sock in the data directory."),
        ] = None,
        port: Annotated[
            int | None, typer.Option(min=0, max=65535, help="Port of the page; 0: any free one.")
        ] = None,
        data: Annotated[
            Path | None, typer.Option(help="Directory of the database; default var.")
        ] = None,
        topology: Annotated[
            Path | None, typer.Option(help="The fabric; without it, it is learnt from records.")
        ] = None,
    ) -> int:
        """Run everything in one process. Needs no Kafka, no ClickHouse and no settings."""
        from skeletonhunter import log_lines, settings
        from streams import event_loop

        config = settings.read()
        log_lines.start(config.log_level, config.log_format)
        return event_loop.run(_serve(_options(config, relay, port, data, topology)))


def _options(
    config: Settings,
    relay: Path | None,
    port: int | None,
    data: Path | None,
    topology: Path | None,
) -> RuntimeOptions:
    """The settings, overridden by what the command line gives."""
    from schemas.parameters.window_timing import WindowTiming
    from skeletonhunter.arguments import known_strategy, read_topology
    from skeletonhunter.embedded.runtime import RuntimeOptions
    from skeletonhunter.services.api_access import api_access
    from skeletonhunter.services.controller.service import ControllerOptions
    from skeletonhunter.services.notifier import configuration
    from skeletonhunter.services.sender_keys import key_ring

    return RuntimeOptions(
        data=data or config.data,
        host=config.api_host,
        port=config.api_port if port is None else port,
        relay=relay,
        topology=read_topology(topology or config.topology),
        strategy=known_strategy(config.strategy, "SKH_STRATEGY"),
        false_per_week=config.false_per_week,
        timing=WindowTiming(lateness_s=config.lateness_s),
        host_names=tuple(config.api_names),
        sql=config.api_sql,
        sender_keys=key_ring(config, "127.0.0.1"),
        unsigned_senders=config.unsigned_senders == "accept",
        controller=ControllerOptions(
            config.controller_host, config.controller_port,
            interval_s=config.controller_interval_s, dscp=config.controller_dscp,
            feedback=config.controller_feedback,
        ),
        tokens=_tokens(config),
        api_access=api_access(config),
        notify=None if config.notify is None else configuration(config.notify),
    )  # fmt: skip


def _tokens(config: Settings) -> TokenFile | None:
    """Those of the settings; None: the runtime makes some. Raises BadInput."""
    from controller.service.tokens import TokenError, TokenFile

    if config.controller_tokens is None:
        return None
    try:
        return TokenFile(config.controller_tokens)
    except TokenError as why:
        raise BadInput(f"SKH_CONTROLLER_TOKENS: {why}") from why


async def _serve(options: RuntimeOptions) -> int:
    """Run until stopped; raises BadInput when it cannot start, else the error that stopped it."""
    from controller.service.tokens import TokenError
    from probers.publishing.relay import RelayError
    from skeletonhunter.embedded.runtime import EmbeddedRuntime
    from skeletonhunter.services.lag_notice import watch_lag
    from skeletonhunter.services.lifecycle import command_error, until_stopped
    from store.client import StoreError

    runtime = EmbeddedRuntime(options)
    try:
        await runtime.start()
    except (RelayError, TokenError, OSError) as why:
        raise BadInput(str(why)) from why
    except StoreError as why:
        raise BadInput(f"{options.data}: {why}; is another `up` using this directory?") from why
    try:
        _announce(runtime)
        worker = runtime.worker
        lag = asyncio.create_task(
            watch_lag(lambda: worker.lag_s, lambda: worker.catching_up, terminal.announce)
        )
        try:
            failure = await until_stopped(runtime.wait)
        finally:
            lag.cancel()
    finally:
        await runtime.stop()
    if failure is not None:
        raise command_error(failure) from failure
    terminal.announce("stopped")
    return 0


def _announce(runtime: EmbeddedRuntime) -> None:
    """Print the addresses, and how an agent is started."""
    options, controller = runtime.options, runtime.controller
    if runtime.port_was_taken:
        terminal.announce(f"port {options.port} is taken; another one was chosen")
    if controller.port_was_taken:
        terminal.announce(f"port {options.controller.port} is taken; another one was chosen")
    terminal.announce(
        f"page       {runtime.url}   (API: {runtime.url}docs)\n"
        f"controller {controller.url}   (ping lists, jobs)\n"
        f"kafka      {runtime.bootstrap}   (this machine only)\n"
        f"agents     unix:{runtime.relay_path}\n"
        f"data       {runtime.data}\n" + _agent_commands(runtime) + "stop with Ctrl-C"
    )


def _agent_commands(runtime: EmbeddedRuntime) -> str:
    """The command of an agent that probes this machine's loopback, where the controller has it."""
    from skeletonhunter.embedded import loopback_agent

    options, data = runtime.options, runtime.data
    publish = f"--publish unix:{runtime.relay_path} --key-file {runtime.key_path}"
    if options.tokens is not None or loopback_agent.TOPOLOGY not in runtime.controller.topologies:
        return (
            "start an agent on a host of the topology, with the token that `skeletonhunter keys "
            "token` gives it:\n"
            f"  skeletonhunter-agent --controller {runtime.controller.url} \\\n"
            f"      {publish} --node-sn HOST --token-file HOST.token\n"
        )
    ring = options.sender_keys
    signing = (
        "" if ring is None else f" --sender-key-file {loopback_agent.write_sender_key(data, ring)}"
    )
    node_sn = loopback_agent.NODE_SN
    return (
        f"submit jobs with the token in {data / f'{loopback_agent.OPERATOR}.token'}\n"
        "start an agent that probes this machine's loopback:\n"
        f"  skeletonhunter-agent --controller {runtime.controller.url} \\\n"
        f"      --token-file {data / f'{node_sn}.token'} --node-sn {node_sn} \\\n"
        f"      {publish}{signing}\n"
    )
