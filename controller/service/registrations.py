"""Registrations of host agents -> events about the containers of their hosts. Pure.

A registration names all containers of the host that are ready. One that is named is ready, if a
source has placed it on this host; one that an earlier registration named, and this one does not,
drains. A registration without containers says nothing about them. It is repeated all the time, so
only what it changes becomes an event.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from controller.state import Host
from controller.tasks.events import ContainerDraining, ContainerReady
from controller.tasks.tasks import Change
from schemas.documents.placement import Placement


class Registration(NamedTuple):
    """What a registration says.

    events   to be applied
    unknown  containers that no source has placed on this host; they may be placed later
    """

    events: list[ContainerReady | ContainerDraining]
    unknown: list[str]


class Registrations:
    """Containers by host, and those that its agent has named."""

    def __init__(self) -> None:
        self._placed: defaultdict[Host, dict[str, Placement]] = defaultdict(dict)
        self._named: dict[Host, frozenset[str]] = {}

    def restore(self, placements: Iterable[Placement]) -> None:
        """Begin with these containers; agents register again."""
        self._placed.clear()
        self._named.clear()
        for each in placements:
            self._place(each)
        for host, boxes in self._placed.items():
            named = (name for name, box in boxes.items() if _by_agent(box))
            self._named[host] = frozenset(named)

    def changed(self, changes: Iterable[Change]) -> None:
        """Containers have changed."""
        for before, after in changes:
            if before is not None:
                self._placed[before.fabric, before.node_sn].pop(before.node_id, None)
            self._place(after)

    def ready_on(self, host: Host) -> list[str]:
        """Containers of the host that are ready, sorted."""
        boxes = self._placed.get(host, {}).values()
        return sorted(box.node_id for box in boxes if box.state == "ready")

    def registered(self, host: Host, containers: Iterable[str] | None, now_ms: int) -> Registration:
        """The events of a registration.

        containers  node_ids that are ready on the host; None: nothing is said about them
        """
        if containers is None:
            return Registration([], [])
        here, named = self._placed.get(host, {}), frozenset(containers)
        before = self._named.get(host, frozenset())
        self._named[host] = named
        events: list[ContainerReady | ContainerDraining] = [
            ContainerReady(time_ms=now_ms, source="agent", node_id=node_id, node_sn=host[1])
            for node_id in sorted(named & here.keys())
            if here[node_id].state == "starting"
            or (here[node_id].state == "draining" and node_id not in before)
        ]
        events += [
            ContainerDraining(time_ms=now_ms, source="agent", node_id=node_id)
            for node_id in sorted(before - named)
            if node_id in here and here[node_id].state in ("starting", "ready")
        ]
        return Registration(events, sorted(named - here.keys()))

    def _place(self, box: Placement) -> None:
        if box.state != "gone":
            self._placed[box.fabric, box.node_sn][box.node_id] = box


def _by_agent(box: Placement) -> bool:
    """Whether the host's agent has said that the container is ready."""
    return any(each.source == "agent" and each.state == "ready" for each in box.claims)
