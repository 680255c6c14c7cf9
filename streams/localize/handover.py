"""Hands incidents and operators' documents to a localizer; a bad document costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.requests.evidence import Evidence
from schemas.documents.topology import Topology
from streams.kafka.messages import OutMessage
from streams.localize.recovery import Recovery
from streams.localize.services import SiteDocument


def restore(
    localizer: Localizer, recovery: Recovery, incidents: Sequence[Incident], time_s: int
) -> list[OutMessage]:
    """Give a new localizer its fabric's incidents; returns what errors publish.

    A pipeline incident says nothing of the network: ``recovery`` takes it over.
    """
    out: list[OutMessage] = []
    if recovery.error is None:
        pipeline = [each for each in incidents if each.kind == "pipeline"]
        out += _each(recovery.restore, pipeline, "incident", recovery, time_s)
    network = [each for each in incidents if each.kind != "pipeline"]
    return out + _each(localizer.restore, network, "incident", recovery, time_s)


def apply(
    localizer: Localizer, recovery: Recovery, documents: Sequence[SiteDocument], time_s: int
) -> list[OutMessage]:
    """Give a localizer documents about its site; it leaves out those of other fabrics."""
    placements = [each for each in documents if isinstance(each, Placement)]
    maintenance = [each for each in documents if isinstance(each, Maintenance)]
    topologies = [each for each in documents if isinstance(each, Topology)]
    evidence = [each for each in documents if isinstance(each, Evidence)]
    out = _each(localizer.follow, topologies, "topology", recovery, time_s)
    out += _each(localizer.place, placements, "placement", recovery, time_s)
    out += _each(localizer.maintain, maintenance, "maintenance", recovery, time_s)
    return out + _each(localizer.hear, evidence, "evidence", recovery, time_s)


def _each(
    function: Callable[[list[Any]], object],
    documents: list[Any],
    what: str,
    recovery: Recovery,
    time_s: int,
) -> list[OutMessage]:
    """Call with all documents; when that fails, with one at a time, to find the bad ones."""
    try:
        function(documents)
    except Exception:  # the bad document is found, counted and reported below
        out: list[OutMessage] = []
        for each in documents:
            try:
                function([each])
            except Exception as why:  # any error of one document, for the same reason
                fields = ("incident_id", "node_id", "component", "fabric")
                name = next(name for field in fields if (name := getattr(each, field, "")))
                where = f"the {what} document of {name}"
                out += recovery.failed(f"taking over a {what}", why, where, time_s)
        return out
    return []
