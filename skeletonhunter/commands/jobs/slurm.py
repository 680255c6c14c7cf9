"""``skeletonhunter slurm drain``: Slurm leaves out the hosts of the blacklist, if told to."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput, DependencyUnreachable

if TYPE_CHECKING:
    from controller.blacklist.blacklist import Blacklist
    from controller.slurm_drain.plan import Action, Allowed
    from skeletonhunter.commands.jobs.drain_record import DrainRecord
    from skeletonhunter.commands.jobs.scontrol import Scontrol


def register(app: typer.Typer) -> None:
    """Add ``slurm`` with ``drain``."""
    slurm = typer.Typer(help="What Slurm does about incidents.", no_args_is_help=True)
    app.add_typer(slurm, name="slurm")
    slurm.command(
        epilog="Example: SKH_CONTROLLER_TOKEN_FILE=me.token skeletonhunter slurm drain "
        "--partition gpu"
    )(drain)
    slurm.callback()(lambda: None)  # else the only command would need no name


def drain(
    partition: Annotated[
        list[str] | None,
        typer.Option(help="Nodes of this partition may be drained; repeat for more."),
    ] = None,
    nodes: Annotated[
        str, typer.Option(help="So may these, as a host list: gpu[001-016].")
    ] = "",
    fabric: Annotated[str, typer.Option(help="Fabric of the hosts.")] = "default",
    most_share: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share of a partition that may be out of service [0.05]."),
    ] = None,
    per_hour: Annotated[
        int | None, typer.Option(min=0, help="Nodes that may be drained in an hour [4].")
    ] = None,
    resume_after: Annotated[
        float | None,
        typer.Option(
            min=0, help="Resume nodes drained by this command, whose incident is over for so long "
            "[min]. Without it none is resumed."
        ),
    ] = None,
    audit: Annotated[
        Path | None, typer.Option(help="File to which each action is written; with --apply.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; else show only.")] = False,
) -> int:  # fmt: skip
    """Show how Slurm would drain the hosts that the blacklist names, or do it.

    Nodes that somebody else has drained, and nodes that are down, are left alone. Run it again
    every few minutes, as from cron, on a host where scontrol may change nodes.
    """
    from controller.slurm_drain.parameters import DEFAULT
    from controller.slurm_drain.plan import Allowed, plan
    from skeletonhunter.commands.jobs.drain_record import DrainRecord, now_ms
    from skeletonhunter.commands.jobs.scontrol import Scontrol

    if apply and audit is None:
        raise BadInput("--apply needs --audit FILE, which bounds how many are drained in an hour")
    share = DEFAULT.most_share if most_share is None else most_share
    names = _names(nodes)
    if not partition and not names:
        raise BadInput("name what may be drained: --partition NAME, or --nodes gpu[001-016]")
    slurm = Scontrol()
    with closing(DrainRecord(audit, apply)) as record:
        left = (DEFAULT.per_hour if per_hour is None else per_hour) - record.drained()
        allowed = Allowed(
            frozenset(partition or ()), frozenset(names), share, left,
            None if resume_after is None else 60 * resume_after,
        )  # fmt: skip
        listed = _blacklist()
        found = plan(slurm.nodes(), listed, fabric, allowed, now_ms())
        for node, why in found.left_alone:
            terminal.echo(f"left alone  {node}: {why}")
        done = []
        for each in found.actions:
            if not apply or _done(each, slurm, record, (listed, fabric, allowed)):
                terminal.echo(shlex.join(["scontrol", *each.arguments]))
                done.append(each)
    drains = sum(each.state == "DRAIN" for each in done)
    words = (
        ("drained", "resumed", "")
        if apply
        else ("to drain", "to resume", "; a dry run, --apply does it")
    )
    terminal.echo(
        f"{drains} {words[0]}, {len(done) - drains} {words[1]}, {len(found.left_alone)} left alone"
        f"{words[2]}"
    )
    return 0


def _names(nodes: str) -> list[str]:
    from controller.sources.slurm.hostlist import HostListError, expand

    try:
        return expand(nodes)
    except HostListError as why:
        raise BadInput(f"--nodes: {why}") from why


def _blacklist() -> Blacklist:
    from controller.blacklist.blacklist import Blacklist
    from skeletonhunter import settings
    from skeletonhunter.controller_client import ControllerClient

    answer = ControllerClient.of(settings.read(), "").get("blacklist")
    try:
        return msgspec.convert(answer, Blacklist)
    except msgspec.ValidationError as why:
        raise BadInput(f"the controller's blacklist: {why}; is it of another release?") from why


def _done(
    action: Action, slurm: Scontrol, record: DrainRecord, asked: tuple[Blacklist, str, Allowed]
) -> bool:
    """Do it, if it is still to be done: somebody may have changed the node meanwhile.

    Raises DependencyUnreachable, and then nothing further is done.
    """
    from controller.slurm_drain.plan import plan
    from skeletonhunter.commands.jobs.drain_record import now_ms

    if action not in plan(slurm.nodes(), *asked, now_ms()).actions:
        record.write(action, "changed")
        terminal.echo(f"left alone  {action.node}: changed by somebody else just now")
        return False
    record.write(action, "begun")
    try:
        said = slurm.update(action.arguments)
    except DependencyUnreachable as why:
        record.write(action, "failed", str(why))
        raise
    record.write(action, "done", " ".join(said.split()))
    return True
