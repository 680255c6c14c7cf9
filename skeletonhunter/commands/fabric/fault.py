"""``skeletonhunter fabric fault``: faults at component ids, verified in the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skeletonhunter import terminal
from skeletonhunter.commands.fabric.options import DIRECTORY, Name, StateDirectory, testbed_errors
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from testbed.netns.faults.fault import Fault
    from testbed.netns.state import State


def register(fabric: typer.Typer) -> None:
    """Add ``fault``."""
    fault = typer.Typer(
        help="Faults in a standing fabric.",
        epilog="Example: skeletonhunter fabric fault list",
        no_args_is_help=True,
    )
    fabric.add_typer(fault, name="fault")

    @fault.callback()
    def root() -> None:
        pass

    fault.command(
        epilog="Example: skeletonhunter fabric fault create network loss --percent 5 "
        "--at 'link:spine:spine-1|tor:tor-0'"
    )(create)
    fault.command(epilog="Example: skeletonhunter fabric fault destroy f1")(destroy)
    fault.command(name="list", epilog="Example: skeletonhunter fabric fault list")(show)


def create(
    target: Annotated[str, typer.Argument(help="network, vswitch, process or cpu")],
    action: Annotated[
        str,
        typer.Argument(
            help="network: loss drop blackhole corrupt duplicate reorder delay down flap mtu "
            "address; vswitch: missing-flow loop; process: kill; cpu: load quota"
        ),
    ],
    at: Annotated[str, typer.Option(help="Component id: tor:tor-0, rnic:10.1.0.1, link:…|…")],
    percent: Annotated[float | None, typer.Option(help="Of packets, or of time (cpu).")] = None,
    time: Annotated[float | None, typer.Option(help="Delay in each direction [ms].")] = None,
    time_us: Annotated[float | None, typer.Option(help="The same [us].")] = None,
    offset: Annotated[float | None, typer.Option(help="Delay varies by so much [ms].")] = None,
    share: Annotated[float | None, typer.Option(help="Of five-tuples, 0..1.")] = None,
    period: Annotated[float | None, typer.Option(help="Of flapping and load [s].")] = None,
    mtu: Annotated[int | None, typer.Option(help="Largest packet [bytes].")] = None,
    destination: Annotated[
        str | None, typer.Option(help="drop: only packets from or to this address.")
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="overlay: only tunnelled packets; all, if not given.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="address: have this one instead; none, if not given.")
    ] = None,
    direction: Annotated[str, typer.Option(help="On a link: both, a>b or b>a.")] = "both",
    issue_type: Annotated[
        str | None, typer.Option(help="What truth.json calls it, instead of the usual name.")
    ] = None,
    name: Name = None,
    state: StateDirectory = DIRECTORY,
) -> int:
    """Inject a fault, verify that it is in place, print its id."""
    from testbed.netns.faults import issues
    from testbed.netns.faults.fault import Fault
    from testbed.netns.state import Store

    if time is not None and time_us is not None:
        raise BadInput("--time and --time-us: give one of them")
    fault = Fault(
        target=target, action=action, at=at, percent=percent, share=share, period_s=period,
        time_us=time * 1e3 if time is not None else time_us,
        offset_us=None if offset is None else offset * 1e3,
        mtu=mtu, destination=destination, layer=layer, address=address,
        direction=direction, issue_type=issue_type,
    )  # fmt: skip
    store = Store(state)
    with testbed_errors(), store.change(store.only(name)) as (known, fabric):
        fabric.create(fault)
        if truth := issues.truth(fault, fabric.topology.fabric):
            known.truths[fault.fault_id] = truth
        _write_truth(known)
    terminal.echo(str(fault))
    return 0


def destroy(
    fault_id: Annotated[str, typer.Argument(help="An id that `fault list` shows, or all.")],
    name: Name = None,
    state: StateDirectory = DIRECTORY,
) -> int:
    """Undo a fault and verify that it is gone; exit code 2 when something of it stays."""
    import msgspec

    from testbed.netns.faults import issues
    from testbed.netns.state import Store

    store = Store(state)
    with testbed_errors(), store.change(store.only(name)) as (known, fabric):
        for fault in _chosen(list(fabric.faults.values()), fault_id):
            fabric.destroy(fault)
            if truth := known.truths.get(fault.fault_id):
                known.truths[fault.fault_id] = msgspec.structs.replace(truth, end=issues.now())
            _write_truth(known)
            terminal.echo(f"{fault} is gone")
    return 0


def show(name: Name = None, state: StateDirectory = DIRECTORY) -> int:
    """Show the faults that last, and whether they are really in place."""
    from testbed.netns.faults import actions
    from testbed.netns.state import Store

    store = Store(state)
    with testbed_errors():
        fabric = store.load(store.only(name)).fabric()
        for fault in fabric.faults.values():
            seen = actions.in_kernel(fabric, fault)
            terminal.echo(f"{fault}: {'; '.join(seen[:3]) or 'NOT in place'}")
    return 0


def _chosen(there: list[Fault], fault_id: str) -> list[Fault]:
    if fault_id == "all":
        return there[::-1]
    chosen = [fault for fault in there if fault.fault_id == fault_id]
    if not chosen:
        known = ", ".join(fault.fault_id for fault in there) or "none"
        raise BadInput(f"no fault {fault_id!r}; there: {known}")
    return chosen


def _write_truth(state: State) -> None:
    """truth.json beside the agents' records, for ``check score``."""
    from testbed.scoring import truth

    if state.out:
        (Path(state.out) / "truth.json").write_bytes(truth.encode(list(state.truths.values())))
