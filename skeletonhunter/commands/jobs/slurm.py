"""``skeletonhunter slurm``: Slurm leaves out the hosts of the blacklist, or jobs do, if told to."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput, DependencyUnreachable

if TYPE_CHECKING:
    from controller.blacklist.blacklist import Blacklist
    from controller.slurm_drain.nodes import Node
    from controller.slurm_drain.plan import Action, Plan
    from skeletonhunter.commands.jobs.drain_record import DrainRecord
    from skeletonhunter.commands.jobs.scontrol import Scontrol

_FEATURE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_DRY: Final = "; a dry run, --apply does it"
_Partitions = Annotated[
    list[str] | None, typer.Option(help="Nodes of this partition may be changed; repeat for more.")
]
_Nodes = Annotated[str, typer.Option(help="So may these, as a host list: gpu[001-016].")]
_Fabric = Annotated[str, typer.Option(help="Fabric of the hosts.")]
_Audit = Annotated[
    Path | None, typer.Option(help="File to which each action is written; with --apply.")
]
_Apply = Annotated[bool, typer.Option("--apply", help="Do it; else show only.")]


def register(app: typer.Typer) -> None:
    """Add ``slurm`` with ``drain`` and ``features``."""
    slurm = typer.Typer(
        help="What Slurm does about incidents.",
        epilog="Example: SKH_CONTROLLER_TOKEN_FILE=me.token skeletonhunter slurm drain "
        "--partition gpu",
        no_args_is_help=True,
    )
    app.add_typer(slurm, name="slurm")
    slurm.command(
        epilog="Example: SKH_CONTROLLER_TOKEN_FILE=me.token skeletonhunter slurm drain "
        "--partition gpu"
    )(drain)
    slurm.command(
        epilog="Example: SKH_CONTROLLER_TOKEN_FILE=me.token skeletonhunter slurm features "
        "--feature network_ok --partition gpu"
    )(features)


def drain(
    partition: _Partitions = None,
    nodes: _Nodes = "",
    fabric: _Fabric = "default",
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
    audit: _Audit = None,
    apply: _Apply = False,
) -> int:  # fmt: skip
    """Show how Slurm would drain the hosts that the blacklist names, or do it.

    Nodes that somebody else has drained, and nodes that are down, are left alone. Run it again
    every few minutes, as from cron, on a host where scontrol may change nodes.
    """
    from controller.slurm_drain.parameters import DEFAULT
    from controller.slurm_drain.plan import Allowed, plan
    from skeletonhunter.commands.jobs.drain_record import DrainRecord, now_ms

    share = DEFAULT.most_share if most_share is None else most_share
    names = _names(partition, nodes)
    _check_audit(audit, apply)
    with closing(DrainRecord(audit, apply)) as record:
        left = (DEFAULT.per_hour if per_hour is None else per_hour) - record.drained()
        allowed = Allowed(
            frozenset(partition or ()), names, share, left,
            None if resume_after is None else 60 * resume_after,
        )  # fmt: skip
        listed = _blacklist()
        done, alone = _carried_out(
            lambda known: plan(known, listed, fabric, allowed, now_ms()), record, apply
        )
    drains = sum(each.state == "DRAIN" for each in done)
    words = ("drained", "resumed", "") if apply else ("to drain", "to resume", _DRY)
    terminal.echo(
        f"{drains} {words[0]}, {len(done) - drains} {words[1]}, {alone} left alone{words[2]}"
    )
    return 0


def features(
    feature: Annotated[str, typer.Option(help="The feature, as network_ok.")],
    partition: _Partitions = None,
    nodes: _Nodes = "",
    fabric: _Fabric = "default",
    audit: _Audit = None,
    apply: _Apply = False,
) -> int:
    """Show how all nodes would get a feature but those that an open incident names, or do it.

    Jobs that ask for it (--constraint, --prefer) keep away from suspected hosts, uncertain ones
    included; nothing is drained. Other features stay.
    """
    from controller.slurm_drain.features import plan_features
    from controller.slurm_drain.plan import Allowed
    from skeletonhunter.commands.jobs.drain_record import DrainRecord

    if not _FEATURE.fullmatch(feature):
        raise BadInput(f"--feature {feature!r}: letters, digits, _, . and - are possible")
    allowed = Allowed(frozenset(partition or ()), _names(partition, nodes), 1.0, 0)
    _check_audit(audit, apply)
    listed = _blacklist()
    with closing(DrainRecord(audit, apply)) as record:
        done, alone = _carried_out(
            lambda known: plan_features(known, listed, fabric, allowed, feature), record, apply
        )
    count = sum(each.node.count(",") + 1 for each in done)
    terminal.echo(
        f"{count} {'changed' if apply else 'to change'}, {alone} left alone{'' if apply else _DRY}"
    )
    return 0


def _check_audit(audit: Path | None, apply: bool) -> None:
    if apply and audit is None:
        raise BadInput("--apply needs --audit FILE, which says what was done, and bounds it")


def _names(partition: list[str] | None, nodes: str) -> frozenset[str]:
    from controller.sources.slurm.hostlist import HostListError, expand

    try:
        names = expand(nodes)
    except HostListError as why:
        raise BadInput(f"--nodes: {why}") from why
    if not partition and not names:
        raise BadInput("name what may be changed: --partition NAME, or --nodes gpu[001-016]")
    return frozenset(names)


def _blacklist() -> Blacklist:
    from controller.blacklist.blacklist import Blacklist
    from skeletonhunter import settings
    from skeletonhunter.controller_client import ControllerClient

    answer = ControllerClient.of(settings.read(), "").get("blacklist")
    try:
        return msgspec.convert(answer, Blacklist)
    except msgspec.ValidationError as why:
        raise BadInput(f"the controller's blacklist: {why}; is it of another release?") from why


def _carried_out(
    planned: Callable[[Mapping[str, Node]], Plan], record: DrainRecord, apply: bool
) -> tuple[list[Action], int]:
    """What was done, or would be, and how many nodes are left alone; each is printed.

    Raises DependencyUnreachable, and then nothing further is done.
    """
    from skeletonhunter.commands.jobs.scontrol import Scontrol

    slurm = Scontrol()
    found = planned(slurm.nodes())
    for node, why in found.left_alone:
        terminal.echo(f"left alone  {node}: {why}")
    done = []
    for action in found.actions:
        if apply and action not in planned(slurm.nodes()).actions:
            record.write(action, "changed")
            terminal.echo(f"left alone  {action.node}: changed by somebody else just now")
            continue
        if apply:
            _do(action, slurm, record)
        terminal.echo(shlex.join(["scontrol", *action.arguments]))
        done.append(action)
    return done, len(found.left_alone)


def _do(action: Action, slurm: Scontrol, record: DrainRecord) -> None:
    record.write(action, "begun")
    try:
        said = slurm.update(action.arguments)
    except DependencyUnreachable as why:
        record.write(action, "failed", str(why))
        raise
    record.write(action, "done", " ".join(said.split()))
