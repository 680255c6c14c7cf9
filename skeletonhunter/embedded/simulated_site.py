"""The callers of the demo's controller: a scheduler and the agents of simulated hosts.

They use the controller's HTTP service like real ones; agents read their lists with the real
agent's client. All methods block.
"""

from __future__ import annotations

import http.client
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import msgspec

from controller.service.tokens import Tokens, agent_line, new_token, operator_line, parse
from controller.tasks.events import (
    AnyEvent,
    Box,
    ContainerDraining,
    ContainerGone,
    ContainerPlaced,
    JobSubmitted,
)
from probers.ping_list import document
from probers.ping_list.controller import ControllerClient, Ready
from probers.ping_list.document import PingList
from probers.ping_list.fetch import DEADLINE_S
from schemas.documents.placement import Placement
from schemas.documents.times import milliseconds_of
from schemas.documents.topology import Topology

_OPERATOR: Final = "demo"


class SimulatedSite:
    """Callers of the controller at ``url``; set it before the first call."""

    def __init__(self, topology: Topology) -> None:
        self.url = ""
        self._topology = topology
        self._operator = new_token()
        self._token = {host.node_sn: new_token() for host in topology.hosts}
        self._ready: defaultdict[str, set[str]] = defaultdict(set)

    def tokens(self) -> Tokens:
        """The file of tokens, as the controller reads it."""
        fabric = self._topology.fabric
        return parse(
            operator_line(_OPERATOR, self._operator)
            + "".join(agent_line((fabric, name), token) for name, token in self._token.items())
        )

    def submit(self, placements: Iterable[Placement], time_ms: int) -> None:
        """The scheduler submits jobs with the containers of these documents."""
        jobs: defaultdict[str, list[Placement]] = defaultdict(list)
        for each in placements:
            jobs[each.job].append(each)
        self._events([
            JobSubmitted(
                time_ms=time_ms, source="rest", job=job, tenant=members[0].tenant,
                fabric=self._topology.fabric, size=len(members),
                containers=[_box(each) for each in members],
            )
            for job, members in jobs.items()
        ])  # fmt: skip

    def register(self, node_sn: str, containers: Iterable[str]) -> None:
        """The agent of a host registers, with these of its containers and those before them."""
        self._ready[node_sn].update(containers)
        self._read(node_sn)

    def change(self, placements: Sequence[Placement]) -> None:
        """Containers change as these documents say: the scheduler or their agent reports it."""
        events: list[AnyEvent] = []
        for each in placements:
            time_ms, host = milliseconds_of(each.valid_from), self._ready[each.node_sn]
            if each.state == "starting":
                events.append(ContainerPlaced(time_ms=time_ms, source="rest", container=_box(each)))
            elif each.state == "draining":
                events.append(
                    ContainerDraining(time_ms=time_ms, source="rest", node_id=each.node_id)
                )
            elif each.state == "gone":
                host.discard(each.node_id)
                events.append(ContainerGone(time_ms=time_ms, source="rest", node_id=each.node_id))
        if events:
            self._events(events)
        for each in placements:
            if each.state == "ready":
                self.register(each.node_sn, [each.node_id])

    def lists(self) -> list[PingList]:
        """The lists of all hosts, as their agents read them."""
        return [self._read(name) for name in self._token]

    def _read(self, node_sn: str) -> PingList:
        """Registers the host with its containers, and reads its list at once: a new client."""
        ready = partial(Ready, tuple(sorted(self._ready[node_sn])))
        client = ControllerClient([self.url], node_sn, self._token[node_sn], ready)
        return document.parse(client(client.location, DEADLINE_S), client.location)

    def _events(self, events: Sequence[AnyEvent]) -> None:
        """Raises RuntimeError for any answer but success: a demo has no other use for it."""
        path = "/api/v1/events"
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        try:
            headers = {"Authorization": f"Bearer {self._operator}"}
            connection.request("POST", path, msgspec.json.encode(list(events)), headers)
            answer = connection.getresponse()
            raw = answer.read()
        finally:
            connection.close()
        if answer.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{path}: {answer.status} {raw[:300]!r}")


def _box(each: Placement) -> Box:
    return Box(
        node_id=each.node_id, node_sn=each.node_sn, job=each.job, tenant=each.tenant,
        fabric=each.fabric, endpoints=each.endpoints,
    )  # fmt: skip
