"""A fabric on which an incident is told apart: hosts that have registered, and its lists."""

from __future__ import annotations

from typing import Any

import msgspec

from builders.controller.clusters import T0_MS, placement
from builders.schemas.incidents import INCIDENT
from controller.feedback.choice import Ground
from controller.ping_lists.lists import PingLists
from controller.service.requests.grounds import ground_of
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339_of_ms
from schemas.documents.topology import Host, Rnic, Switch, Topology


def pods(pods: int = 2, tors: int = 2, hosts: int = 2, aggs: int = 2, spines: int = 2) -> Topology:
    #   spine-<a>-<s>            each agg a of a pod is linked with its own plane of spines
    #   agg-<p>-<a>
    #   tor-<p>-<t>              host h of it: 10.<p>.<t * hosts + h>.1
    links = [
        *((f"tor-{p}-{t}", f"agg-{p}-{a}") for p in range(pods) for t in range(tors)
          for a in range(aggs)),
        *((f"agg-{p}-{a}", f"spine-{a}-{s}") for p in range(pods) for a in range(aggs)
          for s in range(spines)),
    ]  # fmt: skip
    tiers = {"tor": "asw", "agg": "psw", "spine": "dsw"}
    names = sorted({end for pair in links for end in pair})
    return Topology(
        fabric="f1",
        hosts=[
            Host(f"h{p}{t}{h}", [Rnic(f"10.{p}.{t * hosts + h}.1", 0, f"tor-{p}-{t}")], f"pod-{p}")
            for p in range(pods) for t in range(tors) for h in range(hosts)
        ],
        switches=[Switch(name, tiers[name.partition("-")[0]]) for name in names],  # type: ignore[arg-type]
        links=links,
    )  # fmt: skip


def lists_of(topology: Topology, *, boxes: int = 0) -> PingLists:
    """Lists in which every host has registered; with containers c0, c1, ... on the first hosts."""
    known = PingLists(topology)
    for host in topology.hosts:
        known.host(host.node_sn, ready=True)
    for number in range(boxes):
        known.container(placement(number, number))
    return known


def ground(topology: Topology, *, boxes: int = 0) -> Ground:
    return ground_of(topology, lists_of(topology, boxes=boxes))


def incident(*tie: str, **more: Any) -> Incident:
    known: dict[str, Any] = {
        "component": tie[0], "tie_set": [*tie], "kind": tie[0].partition(":")[0],
        "incident_id": "I1", "opened_at": rfc3339_of_ms(T0_MS),
    }  # fmt: skip
    return msgspec.structs.replace(INCIDENT, **(known | more))
