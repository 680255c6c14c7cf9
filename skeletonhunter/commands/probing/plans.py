"""The interval that ``ping-lists`` plans with, and ``coverage`` where it is given no lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from controller.coverage.cadence import Cadence
    from schemas.documents.topology import Topology

#: The goal where none is given: this loss of an rnic's traffic [1] is named within so long [s].
LOSS: Final = 0.02
WITHIN_S: Final = 60.0


def interval_of(
    topology: Topology, *, interval_s: float | None, loss: float, within_s: float
) -> Cadence:
    """The interval that is given, else that of the goal, with what it reaches; raises BadInput.

    interval_s  between two probes of a five-tuple [s], instead of a goal
    loss        of an rnic's traffic that is to be named [1]
    within_s    from the fault to the incident [s]
    """
    from controller.coverage.cadence import Cadence

    if interval_s is None:
        return _planned(topology, loss, within_s)
    if not 0.01 <= interval_s <= 3600:
        raise BadInput(f"--interval {interval_s:g}: give 0.01 to 3600 seconds")
    return Cadence(interval_s, None)


def _planned(topology: Topology, loss: float, within_s: float) -> Cadence:
    """The longest interval that names this loss on every rnic."""
    from controller.coverage.cadence import planned_interval
    from controller.coverage.crossings import entries
    from controller.coverage.report import seen_by_link
    from controller.ping_lists.same_rail import planned
    from schemas.component_ids import kind_of, link_ends
    from skeletonhunter.naming import naming

    lists = planned(topology, interval_s=1.0)
    every = [
        probed._replace(interval_s=1.0)
        for node_sn in lists.hosts
        for probed in entries(lists.document(node_sn))
    ]
    seen = {
        link: each
        for link, each in seen_by_link(topology, every).items()
        if any(kind_of(end) == "rnic" for end in link_ends(link))
    }
    return planned_interval(list(seen.values()), loss, naming(len(seen), within_s=within_s))
