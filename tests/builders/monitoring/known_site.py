"""Of the store whose content is known: what there is, who runs where, what people did."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from builders.monitoring.small_site import (
    SITE,
    SKELETON,
    beat,
    encoded,
    put_heartbeats,
    put_placement,
    put_skeleton,
    put_topology,
)
from builders.streams.sink_messages import counters, samples
from schemas.documents.tasks.claims import Statement
from schemas.documents.tasks.job import Job, Size, Submission
from schemas.documents.topology import Endpoint, Host, Switch
from store.client import Store
from streams.sink import job_rows
from streams.sink.batch import Batcher

JOB: Final = "llm-70b"
_NOON: Final = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp())
_DAY_S: Final = 24 * 3600


def known_site(store: Store) -> None:
    """Two topology documents, two agents of which one is silent, two jobs of which one has ended,
    two inferences, two minutes of two rnics' throughput with a gap, two readings of a port's
    counters, and three actions on the first incident."""
    _topology(store)
    _throughput(store)
    put_heartbeats(store, beat("h1", _NOON + 359))
    put_heartbeats(
        store,
        beat("h2", _NOON + 300, version="1.1", cpu_steal=0.5, scheduling_delay_us=900.0),
    )
    _jobs(store)
    for at_s, kind, actor, assignee, verdict in (
        (60, "acknowledge", "ana", "", ""), (90, "assign", "ana", "bob", ""),
        (900, "feedback", "bob", "", "right"),
    ):  # fmt: skip
        store.execute(
            "INSERT INTO incident_actions (incident_id, key, kind, actor, assignee, verdict, at)"
            f" VALUES ('AAAA', '{kind}', '{kind}', '{actor}', '{assignee}', '{verdict}',"
            f" toDateTime64({_NOON + at_s}.0, 6) - toIntervalMillisecond(500))"
        )


def _topology(store: Store) -> None:
    old = msgspec.structs.replace(
        SITE, switches=[*SITE.switches[:4], Switch("s9", "dsw")], links=SITE.links[:2]
    )
    put_topology(store, old, _NOON - _NOON % _DAY_S - _DAY_S)
    new = msgspec.structs.replace(SITE, hosts=[*SITE.hosts, Host("h3", [], "p2")])
    put_topology(store, new, _NOON - _NOON % _DAY_S)


def _throughput(store: Store) -> None:
    """The rnic of h1 sends 1, then 3 GB/s and receives 2; that of h2 sends a third and is not
    measured in the first half of the first minute. The port of h1 gains errors and pauses."""
    rows = [
        {"real_ip": rnic, "node_sn": host, "time": 10**9 * (_NOON + second),
         "tx_bytes": (1 + 2 * (second >= 60)) * 10**9 // share, "rx_bytes": 2 * 10**9}
        for rnic, host, share, begin in (("10.0.0.1", "h1", 1, 0), ("10.0.1.2", "h2", 3, 30))
        for second in range(begin, 120)
    ]  # fmt: skip
    batcher = Batcher()
    batcher.add(samples(*rows), 0.0)
    for time, symbol_error, pauses in (("12:00:10", 5, 100), ("12:00:40", 12, 400)):
        values = {"symbol_error": symbol_error, "rx_prio3_pause": pauses, "out_of_sequence": 7}
        batcher.add(counters(f"2026-01-31T{time}Z", **values), 0.0)
    for name, table in batcher.collect().tables.items():
        store.insert(name, table)


def _jobs(store: Store) -> None:
    began = {"source": "slurm", "valid_from": "2026-01-31T11:00:00Z"}
    for job in (
        Job(job=JOB, submitted=Submission(**began, fabric="f1", tenant="blue"),
            size=Size(**began, containers=2)),
        Job(job="bert", submitted=Submission(**began, fabric="f1", tenant="red"),
            ended=Statement(source="slurm", valid_from="2026-01-31T11:30:00Z")),
    ):  # fmt: skip
        store.insert("jobs", job_rows.job(encoded(job), 1000 * _NOON))
    for node_id, node_sn, state, time in (
        ("c1", "h1", "starting", "11:00:00"), ("c1", "h1", "ready", "11:01:30"),
        ("c2", "h2", "starting", "11:00:00"),
    ):  # fmt: skip
        put_placement(
            store, node_id, node_sn, job=JOB, state=state, valid_from=f"2026-01-31T{time}Z",
            endpoints=[Endpoint("172.16.0.1", {"h1": "10.0.0.1", "h2": "10.0.1.2"}[node_sn])],
        )  # fmt: skip
    put_skeleton(store, msgspec.structs.replace(
        SKELETON, job=JOB, declined="no rhythm", end="2026-01-31T11:02:00Z"
    ))  # fmt: skip
    put_skeleton(store, msgspec.structs.replace(SKELETON, job=JOB))
