"""``skeletonhunter up``: the whole house in one process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput, CommandError, DependencyUnreachable

if TYPE_CHECKING:
    from schemas.documents.topology import Topology
    from skeletonhunter.embedded.runtime import EmbeddedRuntime, RuntimeOptions


_THIS_HOST: Final = "this-host"


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
        """Serve everything from this one process: no Kafka, no ClickHouse, no settings needed."""
        from skeletonhunter import running, settings
        from streams import event_loop

        config = settings.read()
        running.log_to_stderr(config.log_level)
        return event_loop.run(_up(house(config, relay, port, data, topology)))


def house(
    config: object,
    relay: Path | None = None,
    port: int | None = None,
    data: Path | None = None,
    topology: Path | None = None,
) -> RuntimeOptions:
    """Settings and what the command line says instead."""
    from skeletonhunter.embedded.runtime import RuntimeOptions
    from skeletonhunter.senders import key_ring
    from skeletonhunter.settings import Settings

    assert isinstance(config, Settings)  # noqa: S101 — typed loosely to keep imports late
    return RuntimeOptions(
        data=data or config.data,
        host=config.api_host,
        port=config.api_port if port is None else port,
        relay=relay,
        topology=read_topology(topology or config.topology),
        strategy=known_strategy(config.strategy, "SKH_STRATEGY"),
        false_per_week=config.false_per_week,
        lateness_s=config.lateness_s,
        names=tuple(config.api_names),
        sender_keys=key_ring(config, "127.0.0.1"),
        unsigned_senders=config.unsigned_senders == "accept",
    )


def known_strategy(name: str, where: str) -> str:
    """The name; raises BadInput, which says where it was given, for one that is not registered."""
    from localizer import strategies
    from localizer.errors import UnknownStrategy

    try:
        strategies.get(name)
    except UnknownStrategy as why:
        raise BadInput(f"{where}: {why}") from why
    return name


def read_topology(path: Path | None) -> Topology | None:
    """The file's topology; raises BadInput."""
    from schemas.documents.topology import TopologyError, load

    try:
        return None if path is None else load(path)
    except TopologyError as why:
        raise BadInput(str(why)) from why


async def _up(wanted: RuntimeOptions) -> int:
    from probers.publishing.relay import RelayError
    from skeletonhunter import lag
    from skeletonhunter.embedded.runtime import EmbeddedRuntime
    from skeletonhunter.running import until_stopped
    from store.client import StoreError

    place = EmbeddedRuntime(wanted)
    try:
        await place.start()
    except (RelayError, OSError) as why:
        raise BadInput(str(why)) from why
    except StoreError as why:
        raise BadInput(f"{wanted.data}: {why}; is another `up` using this directory?") from why
    try:
        _announce(place)
        telling = asyncio.create_task(
            lag.tell(lambda: place.worker.lag_s, lambda: place.worker.catching_up, terminal.echo)
        )
        try:
            why_not = await until_stopped(place.wait)
        finally:
            telling.cancel()
    finally:
        await place.stop()
    if why_not is not None:
        raise failure(why_not) from why_not
    terminal.echo("stopped")
    return 0


def failure(why: BaseException) -> BaseException:
    """A part's own end as the command's: a dependency that went away, else the bug itself."""
    from streams.errors import StreamsError

    if isinstance(why, StreamsError | ConnectionError):
        return DependencyUnreachable(str(why))
    return why if isinstance(why, CommandError | Exception) else RuntimeError(repr(why))


def _own_ping_list(data: Path) -> Path:
    """A list with which an agent can be tried on this machine alone: three loopback addresses."""
    from controller.pinglist import same_rail
    from schemas.documents.topology import Host, Rnic, Topology

    path = data / "pinglist.json"
    if not path.exists():
        rnics = [Rnic(f"127.0.0.{10 + rail}", rail) for rail in range(3)]
        lists = same_rail(Topology(hosts=[Host(_THIS_HOST, rnics)]))
        path.write_bytes(msgspec.json.format(msgspec.json.encode(lists[_THIS_HOST])))
    return path


def _own_sender_key(place: EmbeddedRuntime) -> str:
    """The option with this host's key, made from the ring when senders must sign."""
    if place.house.sender_keys is None:
        return ""
    path = place.data / "sender.key"
    path.touch(mode=0o600)
    path.write_text(place.house.sender_keys().host_key("default", _THIS_HOST).document() + "\n")
    return f" --sender-key-file {path}"


def _announce(place: EmbeddedRuntime) -> None:
    if place.port_was_taken:
        terminal.echo(f"port {place.house.port} is taken; another one was chosen")
    terminal.echo(
        f"page      {place.url}   (API: {place.url}docs)\n"
        f"kafka     {place.bootstrap}   (this machine only)\n"
        f"agents    unix:{place.relay_path}\n"
        f"data      {place.data}\n"
        "start an agent that probes this machine's loopback:\n"
        f"  skeletonhunter-agent --ping-list {_own_ping_list(place.data)} \\\n"
        f"      --publish unix:{place.relay_path} --key-file {place.key_path} \\\n"
        f"      --node-sn {_THIS_HOST}{_own_sender_key(place)}\n"
        "stop with Ctrl-C"
    )
