"""``skeletonhunter maintenance``: planned work, on skh.maintenance."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from controller.tasks.events import AnyEvent
    from controller.tasks.tasks import Tasks
    from schemas.documents.maintenance import Maintenance

_UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def register(app: typer.Typer) -> None:
    """Add ``maintenance`` with ``add``, ``list`` and ``end``."""
    maintenance = typer.Typer(
        help="Planned work: verdicts on its components are suppressed.",
        epilog="Example: skeletonhunter maintenance list",
        no_args_is_help=True,
    )
    app.add_typer(maintenance, name="maintenance")
    maintenance.command(
        epilog="Example: skeletonhunter maintenance add tor:leaf-7 --for 2h --reason 'new optics'"
    )(add)
    maintenance.command("list", epilog="Example: skeletonhunter maintenance list --all")(list_)
    maintenance.command(epilog="Example: skeletonhunter maintenance end tor:leaf-7")(end)


def add(
    component: Annotated[str, typer.Argument(help="Component id, as tor:leaf-7 or host:gpu-12.")],
    reason: Annotated[str, typer.Option(help="Shown with the suppressed verdicts.")],
    lasts: Annotated[str, typer.Option("--for", help="How long: 90s, 30m, 2h, 1d.")] = "",
    until: Annotated[str, typer.Option(help="Or its end, RFC 3339.")] = "",
    begins: Annotated[str, typer.Option("--from", help="Its beginning, RFC 3339. [now]")] = "",
    fabric: Annotated[str, typer.Option(help="Fabric of the component.")] = "default",
) -> int:
    """Announce work on a component and all its parts; needs SKH_KAFKA."""
    from controller.tasks.events import MaintenancePlanned
    from schemas.documents.times import milliseconds_of

    now_ms = time.time_ns() // 1_000_000
    if bool(lasts) == bool(until):
        raise BadInput("give one of --for and --until")
    try:
        start_ms = milliseconds_of(begins) if begins else now_ms
        until_ms = milliseconds_of(until) if until else start_ms + _duration_ms(lasts)
        event = MaintenancePlanned(
            time_ms=now_ms, source="rest", component=component, start_ms=start_ms,
            until_ms=until_ms, reason=reason, fabric=fabric,
        )  # fmt: skip
        topic = _Topic()
        changed = topic.apply(event)
    except ValueError as why:
        raise BadInput(str(why)) from why
    for each in changed:
        terminal.echo(f"{each.fabric} {each.component}: from {each.start} until {each.until}")
        if unknown := topic.unknown(each):
            terminal.echo(f"note: {unknown}; the work has no effect until it is", err=True)
    return 0


def list_(
    every: Annotated[bool, typer.Option("--all", help="Those that are over too.")] = False,
    output: Annotated[
        Literal["table", "json"], typer.Option("--format", help="For people or programs.")
    ] = "table",
) -> int:
    """List planned work that is not over; needs SKH_KAFKA."""
    works = _Topic().works(None if every else time.time())
    if output == "json":
        sys.stdout.writelines(msgspec.json.encode(each).decode() + "\n" for each in works)
        return 0
    for each in works:
        terminal.echo(
            f"{each.fabric} {each.component}  from {each.start} until {each.until}  {each.reason}"
        )
    if not works:
        terminal.echo("no planned work")
    return 0


def end(
    component: Annotated[str, typer.Argument(help="Component id, as it was announced.")],
    fabric: Annotated[str, typer.Option(help="Fabric of the component.")] = "default",
) -> int:
    """End work on a component now, or call it off; needs SKH_KAFKA."""
    from controller.tasks.events import MaintenanceEnded
    from schemas.documents.times import milliseconds_of

    topic, now_ms = _Topic(), time.time_ns() // 1_000_000
    works = topic.works(now_ms / 1000)
    mine = [each for each in works if (each.fabric, each.component) == (fabric, component)]
    if not mine:
        known = ", ".join(f"{each.component} of {each.fabric}" for each in works) or "none"
        raise BadInput(f"no work on {component} of {fabric} is planned; there is: {known}")
    for each in mine:
        ended = MaintenanceEnded(
            time_ms=now_ms, source="rest", component=component, fabric=fabric,
            start_ms=milliseconds_of(each.start),
        )  # fmt: skip
        for document in topic.apply(ended):
            terminal.echo(f"{fabric} {component}: ended at {document.until}")
    return 0


class _Topic:
    """skh.maintenance as it is now, and what is published on it."""

    def __init__(self) -> None:
        from controller.tasks.tasks import Documents, Tasks
        from schemas.documents.maintenance import Maintenance
        from schemas.documents.placement import Placement
        from schemas.documents.topology import Topology
        from skeletonhunter.commands.inventory import topic_documents

        self._kafka = topic_documents.kafka()
        documents = topic_documents.known(self._kafka)
        works = [_stated(each) for each in documents if isinstance(each, Maintenance)]
        self._topologies = {e.fabric: e for e in documents if isinstance(e, Topology)}
        self._boxes = [each for each in documents if isinstance(each, Placement)]
        self._tasks: Tasks = Tasks.restored(Documents([], [], works))

    def works(self, after_s: float | None) -> list[Maintenance]:
        """Work that ends after then, all for None; by its beginning."""
        from schemas.documents.times import seconds_of

        every = sorted(self._tasks.maintenance.values(), key=lambda each: seconds_of(each.start))
        return [
            each for each in every
            if after_s is None or (seconds_of(each.until) > after_s and not _called_off(each))
        ]  # fmt: skip

    def unknown(self, work: Maintenance) -> str | None:
        """Why its component is known neither to the fabric's topology nor to placements; None where
        it is, or where no topology is published."""
        from schemas.component_ids import component
        from schemas.documents.known_components import Known, of_topology

        topology = self._topologies.get(work.fabric)
        if topology is None:
            return None
        boxes = (component("container", e.node_id) for e in self._boxes if e.fabric == work.fabric)
        ids = frozenset({*of_topology(topology), *boxes})
        return Known(frozenset({work.fabric}), ids, complete=True).unknown_component(work)

    def apply(self, event: AnyEvent) -> list[Maintenance]:
        """Publish the documents that an event changes; returns them. Raises ValueError."""
        from schemas import topics
        from skeletonhunter.commands.inventory import topic_documents

        changed = self._tasks.apply(event).maintenance
        keyed = [topic_documents.Keyed(each.key, each) for each in changed]
        topic_documents.publish(self._kafka, topics.MAINTENANCE, keyed)
        return changed


def _called_off(work: Maintenance) -> bool:
    """Whether it ended before it began: a document then has the shortest time that there is."""
    from schemas.documents.times import milliseconds_of

    return milliseconds_of(work.until) - milliseconds_of(work.start) <= 1


def _stated(document: Maintenance) -> Maintenance:
    """A document that says who planned it: without that it counts as a file's word."""
    from schemas.documents.maintenance import Plan

    if document.planned is not None:
        return document
    plan = Plan(source="file", valid_from="1970-01-01T00:00:00Z", until=document.until)
    return msgspec.structs.replace(document, planned=plan)


def _duration_ms(text: str) -> int:
    """Milliseconds of ``90s``, ``30m``, ``2h``, ``1d``; raises ValueError."""
    match = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if match is None or not int(match[1]):
        raise ValueError(f"--for {text}: write a number and a unit, as 90s, 30m, 2h or 1d")
    return int(match[1]) * _UNIT_MS[match[2]]
