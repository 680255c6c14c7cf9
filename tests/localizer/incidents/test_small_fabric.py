"""A small fabric that is probed gently: three hosts, two spines, a probe each 3 s of a five-tuple.

A handful of losses has to tell a switch from its links. The losses of the first seconds often cross
one of the links only, and that one must not be what engineers read at last.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

import skeletonhunter
from schemas.documents.topology import Host, Rnic, Switch, Topology

HOSTS, SPINES, QUEUE_PAIRS = range(3), range(2), 3
INTERVAL_S, FAULT_S, END_S = 3.0, 15.0, 41.0
LOSS = 0.3
START_NS = 1_795_541_077_000_000_000
RUNS = range(2000, 2040)
SPINE, LINK = "spine:spine-1", "link:spine:spine-1|tor:tor-2"
TOPOLOGY = Topology(
    fabric="small",
    hosts=[Host(f"host-{n}", [Rnic(f"10.1.{n}.1", 0, f"tor-{n}")]) for n in HOSTS],
    switches=[
        *(Switch(f"tor-{n}", "asw", addresses=[f"10.3.{n}.1"]) for n in HOSTS),
        *(Switch(f"spine-{n}", "dsw", addresses=[f"10.4.{n}.1"]) for n in SPINES),
    ],
    links=[(f"tor-{n}", f"spine-{spine}") for n in HOSTS for spine in SPINES],
)

Flow = tuple[int, int, int, int]  # source host and port, destination host and port


def record(flow: Flow, kind: str, at_s: float, **more: Any) -> dict[str, Any]:
    source, source_port, other, other_port = flow
    ends = {
        f"{side}_{name}": value
        for side, host in (("src", source), ("dst", other))
        for name, value in (
            ("node_sn", f"host-{host}"), ("ip", f"10.1.{host}.1"), ("real_ip", f"10.1.{host}.1"),
            ("asw", f"tor-{host}"), ("idc", "small"),
        )
    }  # fmt: skip
    return {
        **ends, "src_port": source_port, "dst_port": other_port, "agent_type": "underlay",
        "task_type": kind, "dial": "success", "ping_time": START_NS + int(at_s * 1e9), **more,
    }  # fmt: skip


def play(seed: int, culprit: str) -> list[dict[str, Any]]:
    """Traceroutes of all five-tuples and replies, then probes; after FAULT_S each crossing of the
    culprit loses with the probability LOSS."""
    draw = random.Random(seed)
    rows = []
    for source, other in ((a, b) for a in HOSTS for b in HOSTS if a != b):
        for queue_pair in range(QUEUE_PAIRS):
            flow = (source, 50_000 + 1_000 * queue_pair + draw.randrange(999), other, 4791)
            crossings = 0
            for way in (flow, (*flow[2:], *flow[:2])):
                spine = draw.choice(SPINES)
                links = {f"link:spine:spine-{spine}|tor:tor-{tor}" for tor in (way[0], way[2])}
                crossings += culprit in {f"spine:spine-{spine}", *links}
                hops = [f"10.3.{way[0]}.1", f"10.4.{spine}.1", f"10.3.{way[2]}.1"]
                rows.append(record(way, "TRACEROUTE", draw.random(), route=json.dumps(hops)))
            at_s = draw.random() * INTERVAL_S
            while at_s < END_S:
                lost = at_s >= FAULT_S and draw.random() < 1 - (1 - LOSS) ** crossings
                said = {"dial": "timeout"} if lost else {"latency": 900 + 200 * draw.random()}
                rows.append(record(flow, "RDMA_PING", at_s, **said))
                at_s += INTERVAL_S + draw.random() * 0.05
    return sorted(rows, key=lambda row: int(row["ping_time"]))


def named(folder: Path, seed: int, culprit: str) -> list[str]:
    """Components of the incidents at the end."""
    pings, topology = folder / "pings.ndjson", folder / "topology.json"
    pings.write_text("".join(json.dumps(row) + "\n" for row in play(seed, culprit)))
    topology.write_bytes(msgspec.json.encode(TOPOLOGY))
    found = skeletonhunter.diagnose(str(pings), topology=str(topology)).to_frame()
    return list(found["component"]) if len(found) else []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("culprit", "most_wrong"), [(SPINE, 1), (LINK, 5)])
def test_one_incident_names_the_culprit_in_nearly_all_runs(
    tmp_path: Path, culprit: str, most_wrong: int
) -> None:
    all_named = {seed: named(tmp_path, seed, culprit) for seed in RUNS}
    wrong = {seed: names for seed, names in all_named.items() if names != [culprit]}
    # Without rivals 3 and 4 of the 40 are wrong. Of a link some stay too few losses to tell.
    assert len(wrong) <= most_wrong, wrong
