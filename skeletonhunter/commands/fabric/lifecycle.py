"""``skeletonhunter fabric``: build, show and remove fabrics that outlive the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from skeletonhunter import terminal
from skeletonhunter.commands.fabric import fault as fabric_fault
from skeletonhunter.commands.fabric import play
from skeletonhunter.commands.fabric.options import DIRECTORY, Name, StateDirectory, testbed_errors
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from testbed.netns.fabric import Fabric
    from testbed.netns.state import State

DEFAULT_NAME: Final = "fabric"


def register(app: typer.Typer) -> None:
    """Add ``fabric`` and what is below it."""
    fabric = typer.Typer(
        help="A real fabric of network namespaces on this machine, and faults in it (root).",
        epilog="Example: skeletonhunter fabric up --containers 2 --agents",
        no_args_is_help=True,
    )
    app.add_typer(fabric, name="fabric")

    @fabric.callback()
    def root() -> None:
        pass

    fabric.command(epilog="Example: skeletonhunter fabric up --containers 2 --agents")(up)
    fabric.command(epilog="Example: skeletonhunter fabric down")(down)
    fabric.command(epilog="Example: skeletonhunter fabric status")(status)
    fabric.command(
        name="exec", epilog="Example: skeletonhunter fabric exec host-0 -- ping -c 1 10.1.2.1"
    )(execute)
    fabric_fault.register(fabric)
    play.register(fabric)


def up(
    hosts: Annotated[int, typer.Option(min=1, help="Hosts.")] = 8,
    nics: Annotated[int, typer.Option(min=1, help="NICs per host; each is a rail.")] = 2,
    hosts_per_tor: Annotated[int, typer.Option(min=1, help="Hosts that share their ToRs.")] = 4,
    spines: Annotated[int, typer.Option(min=1, help="Spine switches.")] = 2,
    aggs: Annotated[int, typer.Option(min=0, help="Agg switches per pod; 0: two tiers.")] = 0,
    pods: Annotated[int, typer.Option(min=1, help="Pods of a three-tier fabric.")] = 1,
    containers: Annotated[int, typer.Option(min=0, help="Containers per host.")] = 1,
    tenants: Annotated[
        int, typer.Option(min=1, help="Tenants; a host's containers are dealt to them in turn.")
    ] = 2,
    vswitch: Annotated[
        Literal["bridge", "ovs"],
        typer.Option(help="A Linux bridge, or Open vSwitch (user space) with flow tables to read."),
    ] = "bridge",
    ipv6: Annotated[bool, typer.Option("--ipv6", help="IPv6 addresses instead of IPv4.")] = False,
    name: Annotated[str, typer.Option(help="What to call it.")] = DEFAULT_NAME,
    topology: Annotated[
        Path | None, typer.Option(help="Write the topology document to this file.")
    ] = None,
    agents: Annotated[
        bool, typer.Option("--agents", help="Start an agent in every host and container.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory of the agents' records, begun anew; default var/NAME. Kafka: SKH_KAFKA."
        ),
    ] = None,
    ports: Annotated[int, typer.Option(min=1, help="Five-tuples per pair of endpoints.")] = 2,
    interval: Annotated[float, typer.Option(help="Seconds between probes of a five-tuple.")] = 1.0,
    state: StateDirectory = DIRECTORY,
) -> int:
    """Build a fabric that stays up after this command has ended."""
    import time

    from testbed.netns import Plan
    from testbed.netns.build import has_hash_seeds
    from testbed.netns.state import Store

    begin = time.monotonic()
    try:
        plan = Plan(
            hosts=hosts, nics=nics, hosts_per_tor=hosts_per_tor, spines=spines, aggs=aggs,
            pods=pods, containers=containers, tenants=tenants, fabric=name,
            vswitch=vswitch, ipv6=ipv6,
        )  # fmt: skip
    except ValueError as why:
        raise BadInput(str(why).partition(": ")[2]) from why
    store = Store(state)
    with testbed_errors():
        known, fabric = store.build(name, plan)
        try:
            if topology is not None:
                _write_topology(fabric, topology)
            if agents:
                _start_agents(known, fabric, out or Path("var") / name, ports, interval)
        except BaseException:
            store.remove(name)
            raise
        known.update(fabric)
        store.save(known)
    nodes = len(plan.nodes())
    terminal.echo(f"fabric {name!r} is up: {nodes} namespaces in {time.monotonic() - begin:.1f} s")
    if aggs and not has_hash_seeds():
        terminal.echo(
            "this kernel has no hash seed per switch (net.ipv4.fib_multipath_hash_seed, Linux "
            "6.11): hashes polarize, and some links between aggs and spines carry no five-tuple",
            err=True,
        )
    terminal.echo(f"records in {known.out}") if known.out else None
    terminal.echo(
        f"look     skeletonhunter fabric status\n"
        f"break    skeletonhunter fabric fault create network loss --percent 30 "
        f"--at '{plan.link_id(plan.switch_cables()[0])}'\n"
        f"remove   skeletonhunter fabric down {name}"
    )
    return 0


def _write_topology(fabric: Fabric, path: Path) -> None:
    import msgspec

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(fabric.topology)))
    except OSError as why:
        raise BadInput(f"{path}: {why.strerror}; give a writable --topology") from why


def _start_agents(state: State, fabric: Fabric, out: Path, ports: int, interval: float) -> None:
    """Start the relay, then the agents; their files are in ``out``."""
    from skeletonhunter.settings import read
    from testbed.netns.probes.agents import start_agents
    from testbed.netns.probes.collector import start_collector

    kafka = read().kafka
    out = out.resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise BadInput(f"{out}: {why.strerror}; give a writable --out") from why
    for stale in ("pings.ndjson", "heartbeats.ndjson", "truth.json", "agents.log"):
        (out / stale).unlink(missing_ok=True)  # of a fabric that is gone
    _write_topology(fabric, out / "topology.json")
    state.out = str(out)
    state.collector, socket = start_collector(fabric, out, kafka)
    start_agents(
        fabric, out, f"unix:{socket}", ports_per_pair=ports, interval_s=interval,
        arguments=() if kafka else ("--encoding", "ndjson"), log=out / "agents.log",
    )  # fmt: skip


def down(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which fabrics; all of this --state, if none.")
    ] = None,
    state: StateDirectory = DIRECTORY,
) -> int:
    """Remove fabrics completely, also what a killed command left behind."""
    from testbed.netns import remove_stale
    from testbed.netns.state import Store

    store = Store(state)
    with testbed_errors():
        for name in names or store.names():
            terminal.echo(f"fabric {name!r} is gone: {store.remove(name)} namespaces")
        if not names and (stale := remove_stale()):
            terminal.echo(f"{len(stale)} namespaces of killed processes are gone")
    return 0


def status(state: StateDirectory = DIRECTORY) -> int:
    """Show fabrics, their nodes and their faults."""
    from testbed.netns import machine
    from testbed.netns.faults import actions
    from testbed.netns.state import Store

    store = Store(state)
    with testbed_errors():
        for name in store.names():
            known = store.load(name)
            plan, fabric = known.plan, known.fabric()
            there = len(machine.present(fabric.prefix))
            health = "up" if known.built else "being built"
            if known.abandoned or there < len(plan.nodes()):
                health = f"incomplete: skeletonhunter fabric down {name}"
            terminal.echo(f"fabric {name!r}: {health}; {there} of {len(plan.nodes())} namespaces")
            terminal.echo(f"  switches    {' '.join(plan.routers())}")
            terminal.echo(
                f"  hosts       {plan.hosts} x {plan.nics} NICs: {_range('host', plan.hosts)}"
            )
            if plan.containers:
                boxes = plan.container_names()
                terminal.echo(f"  containers  {len(boxes)}: {boxes[0]} … {boxes[-1]}")
            if known.agents:
                alive = sum(machine.alive(agent.process) for agent in known.agents)
                terminal.echo(f"  agents      {alive} of {len(known.agents)} run; {known.out}")
            for fault in fabric.faults.values():
                seen = actions.in_kernel(fabric, fault) if there else []
                terminal.echo(f"  fault       {fault}: {'in place' if seen else 'NOT in place'}")
        if not store.names():
            terminal.echo(f"no fabric in {state}")
    return 0


def execute(
    node: Annotated[str, typer.Argument(help="host-N, cont-N-M, tor-N, agg-N, spine-N")],
    command: Annotated[list[str], typer.Argument(help="After --: what to run there.")],
    name: Name = None,
    state: StateDirectory = DIRECTORY,
) -> int:
    """Run a command in a node's network; its exit code is the command's."""
    import os
    import subprocess

    from testbed.netns import machine
    from testbed.netns.state import Store

    store = Store(state)
    with testbed_errors():
        fabric = store.load(store.only(name)).fabric()
        try:
            space = fabric.namespace(node)
        except ValueError as why:
            raise BadInput(str(why)) from why
        if space not in machine.present(fabric.prefix):
            raise BadInput(f"namespace {space} is gone; skeletonhunter fabric down {fabric.name}")
    tools = {**os.environ, "OVS_RUNDIR": str(machine.RUNTIME / space)}  # where ovs-ofctl looks
    return subprocess.run(machine.inside(space, command), env=tools, check=False).returncode  # noqa: S603  # the user's command is the point


def _range(kind: str, count: int) -> str:
    return f"{kind}-0" if count == 1 else f"{kind}-0 … {kind}-{count - 1}"
