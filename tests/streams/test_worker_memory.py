"""A stream worker holds no more after half a day of churn than after the first hours.

Every ten minutes all is new: hosts, rnics, containers, ports, jobs, tenants and switches; a fault
opens an incident, maintenance suppresses another, and a topology document replaces the last one.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from typing import Any, NamedTuple

import msgspec
from builders.streams.census import census
from builders.streams.ping_records import START_S, ping
from builders.streams.whole_worker import WholeWorker

from schemas import topics
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.times import rfc3339
from schemas.documents.topology import Container, Host, Rnic, Switch, Topology
from skeletonhunter import malloc
from streams.admission.parameters import DEFAULT as ADMISSION

HOSTS, BUSY_S = 5, 9
EVERY_S = 600
HOUR_S = 3600
#: The longest that anything is remembered that is over, and some time to drop it.
SETTLED_H = ADMISSION.over_s // HOUR_S + 1
HOURS = 2 * SETTLED_H
#: What malloc has given out may rise so much from then on, tables of names included (they take
#: 0.15 MB), and the free room that it keeps [B].
USED_B, FREE_B = 1_000_000, 2_000_000


class Held(NamedTuple):
    """What the worker holds: entries by place [count], and malloc's memory of the process."""

    entries: Counter[str]
    heap: malloc.Heap | None


def time(at_s: int) -> str:
    return rfc3339((START_S + at_s) * 10**9)


def topology(number: int, at_s: int) -> Topology:
    names, asws = range(HOSTS), [f"asw{number}.{n}" for n in range(2)]
    return Topology(
        fabric="f1",
        hosts=[
            Host(f"h{number}.{n}", [Rnic(f"r{number}.{n}", asw=asws[n % 2])], f"p{number}")
            for n in names
        ],
        switches=[
            *(Switch(asw, "asw") for asw in asws), Switch(f"dsw{number}", "dsw"),
        ],
        links=[(asw, f"dsw{number}") for asw in asws],
        containers=[Container(f"listed{number}.{n}", f"h{number}.{n}") for n in names],
        valid_from=time(at_s),
    )  # fmt: skip


def placements(number: int, at_s: int) -> list[Placement]:
    """Those before are gone; new ones are ready, but for the last one."""
    states = [(number, "ready"), *([(number - 1, "gone")] if number else [])]
    new = [
        Placement(
            node_id=f"c{each}.{n}", node_sn=f"h{each}.{n}", fabric="f1", job=f"job{each}",
            tenant=f"t{each}", state=state, valid_from=time(at_s),  # type: ignore[arg-type]
        )
        for each, state in states
        for n in range(HOSTS)
    ]  # fmt: skip
    late = HOSTS - 1
    return [
        msgspec.structs.replace(each, state="starting")
        if each.node_id == f"c{number}.{late}" else each
        for each in new
    ]  # fmt: skip


def work(number: int, at_s: int) -> Maintenance:
    return Maintenance(
        component=f"host:h{number}.1", start=time(at_s), until=time(at_s + 60), reason="optics",
        fabric="f1",
    )  # fmt: skip


def pings(number: int, at_s: int) -> dict[str, list[dict[str, Any]]]:
    """All hosts probe each other in both layers; all probes of rnic 0 are lost from the start."""

    def record(a: int, b: int, layer: str) -> dict[str, Any]:
        ends = {
            f"{side}_{field}": f"{name}{number}.{n}"
            for side, n in (("src", a), ("dst", b))
            for field, name in (
                ("node_sn", "h"), ("node_id", "c"), ("real_ip", "r"), ("ip", f"{layer}-"),
            )
        }  # fmt: skip
        tenants = {f"{side}_tenant_id": f"t{number}" for side in ("src", "dst")}
        return ping(
            at_s + 0.5 + 0.01 * b, agent_type=layer, src_port=10_000 + number, sent=4,
            loss_rate=1.0 if 0 in (a, b) else 0.0, dial="timeout" if 0 in (a, b) else "success",
            **ends, **tenants,
        )  # fmt: skip

    return {
        f"h{number}.{a}": [
            record(a, b, layer)
            for b in range(HOSTS) if b != a
            for layer in ("overlay", "underlay")
        ]
        for a in range(HOSTS)
    }  # fmt: skip


async def churn(worker: WholeWorker) -> list[Held]:
    """What it holds after each hour."""
    held = []
    for number, start in enumerate(range(0, HOURS * HOUR_S, EVERY_S)):
        documents = [topology(number, start), *placements(number, start), work(number, start)]
        for at_s in range(start, start + BUSY_S):
            beats = [
                Heartbeat(f"h{number}.{n}", (START_S + at_s) * 10**9, fabric="f1", instance=f"i{n}")
                for n in range(HOSTS)
            ]
            await worker.second(at_s, pings(number, at_s), beats, documents)
            documents = []
        if (start + EVERY_S) % HOUR_S == 0:
            entries = census(*worker.parts)
            gc.collect()
            held.append(Held(entries, malloc.heap()))
    return held


#: Tables of names keep what no path has any more until that is most of them: some thousand entries
#: at least. ``tests/localizer/state/test_growth.py`` tries these. The log has 10,000 at most.
LAZY = (
    "._state.index.tables{}", "._state.columns._address_pairs", "._state.columns._pairs",
    "._state.inventory.jobs", "._state.suppression_log._of",
    "._documented._asked", "._documented._asw._room",  # by the codes of those names
)  # fmt: skip


def test_half_a_day_of_churn_leaves_nothing_behind() -> None:
    worker = WholeWorker()
    held = asyncio.run(churn(worker))
    assert worker.published[topics.INCIDENTS.name] >= HOURS, "faults open incidents"
    entries = [each.entries for each in held]
    earlier, later = entries[SETTLED_H - 2 : SETTLED_H], entries[-2:]
    grown = {
        place: (first, last)
        for place in later[-1]
        if (last := max(each[place] for each in later))
        > 1.2 * (first := max(each[place] for each in earlier)) + 2 * HOSTS
        and not any(lazy in place for lazy in LAZY)
    }
    assert not grown, "entries by place, in the middle and at the end"
    settled, last = held[SETTLED_H - 1].heap, held[-1].heap
    if settled is not None and last is not None:  # what no census finds: memory of C code
        assert last.used - settled.used < USED_B
        assert last.free - settled.free < FREE_B
