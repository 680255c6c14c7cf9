"""The coverage of the present lists of each fabric, counted again when they have changed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple, get_args

from controller.coverage.power import Naming
from controller.coverage.report import Coverage, State
from controller.ping_lists.lists import PingLists
from controller.service.coverage_count import Lists, counted, gathered
from schemas.documents.topology import Topology
from schemas.metrics import Sample
from schemas.metrics import controller as metrics

_log = logging.getLogger(__name__)
Count = Callable[[Lists], Awaitable[Coverage]]


class Covered(NamedTuple):
    """The coverage of a fabric's lists.

    etags     of the lists that it is about, by node_sn
    since_ms  when they were read [ms since the epoch]
    """

    etags: Mapping[str, str]
    since_ms: int
    found: Coverage


class LiveCoverage:
    """What the lists of each fabric cross; for one event loop.

    of  the newest count, by fabric
    """

    def __init__(self) -> None:
        self.of: dict[str, Covered] = {}

    async def count(
        self,
        topology: Topology,
        lists: PingLists,
        naming: Naming,
        now_ms: int,
        count: Count = counted,
    ) -> bool:
        """Count what a fabric's lists cross; returns whether they have changed since.

        An error costs the count in which it occurs: the one before stays.
        """
        fabric, known = topology.fabric, self.of.get(topology.fabric)
        etags = {node_sn: lists.etag(node_sn) for node_sn in lists.hosts}
        if known is not None and known.etags == etags:
            return False
        try:
            found = await count(await gathered(topology, lists, naming))
        except Exception:
            _log.exception("fabric %s: what its lists cover cannot be counted", fabric)
            return True
        self.of[fabric] = Covered(etags, now_ms, found)
        return True

    def samples(self) -> Iterator[Sample]:
        """Metrics: links by how they are covered."""
        for fabric, covered in list(self.of.items()):
            states = Counter(each.state for each in covered.found.links)
            for state in get_args(State):
                yield Sample(metrics.CONTROLLER_LINKS, states[state], (fabric, state))
            unnameable = len(covered.found.unnameable())
            yield Sample(metrics.CONTROLLER_UNNAMEABLE, unnameable, (fabric,))
