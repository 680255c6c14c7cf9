"""Topology, placement and heartbeats become rows; what is not valid becomes a dead letter."""

from __future__ import annotations

import msgspec
import pytest
from builders.monitoring.small_site import SITE, SKELETON, beat, encoded
from builders.streams.sink_messages import message

from schemas.documents import heartbeat
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job, Size, Submission
from schemas.documents.topology import Endpoint, Host, Rnic, Switch, Topology
from streams.sink.batch import Batcher, Message

PLACED = Placement(
    node_id="c1", node_sn="h1", state="ready", valid_from="2026-01-31T11:00:00Z", fabric="f1",
    job="llm", tenant="blue", endpoints=[Endpoint("172.16.0.1", "10.0.0.1")],
)  # fmt: skip


def test_a_topology_becomes_a_row_for_each_component() -> None:
    batcher = Batcher()
    batcher.add(message("skh.topology", encoded(SITE))._replace(time_ms=1_700_000_000_123), 0.0)
    rows = batcher.collect().tables["topology_components"].to_pylist()
    named = {row["component"]: row for row in rows}
    assert {row["valid_from"].timestamp() for row in rows} == {1_700_000_000.123}
    assert len(named) == len(rows) == 5 + 4 + 2 * 3 + 1
    assert named["rnic:10.0.0.1"]["tor"] == "t1"
    assert named["rnic:10.0.0.1"]["host"] == "h1"
    assert named["link:agg:a1|tor:t1"]["ends"] == ["agg:a1", "tor:t1"]
    assert named["link:rnic:10.0.0.1|tor:t1"]["kind"] == "link"
    assert named["tor:t1"]["addresses"] == ["10.9.0.1"]
    assert (named["container:c1"]["job"], named["container:c1"]["rnics"]) == ("llm", ["10.0.0.1"])


def test_a_bonded_rnic_is_linked_to_each_of_its_tors_and_shown_behind_the_first() -> None:
    switches = [Switch("t1", "asw"), Switch("t2", "asw")]
    hosts = [Host("h1", [Rnic("10.0.0.1", asws=["t2", "t1"])])]
    batcher = Batcher()
    message_of = message("skh.topology", encoded(Topology(hosts=hosts, switches=switches)))
    batcher.add(message_of, 0.0)
    rows = batcher.collect().tables["topology_components"].to_pylist()
    named = {row["component"]: row for row in rows}
    assert named["rnic:10.0.0.1"]["tor"] == "t2"
    assert {"link:rnic:10.0.0.1|tor:t1", "link:rnic:10.0.0.1|tor:t2"} < named.keys()


def test_the_document_says_from_when_on_a_topology_holds() -> None:
    later = msgspec.structs.replace(SITE, valid_from="2026-01-31T12:00:00Z")
    batcher = Batcher()
    batcher.add(message("skh.topology", encoded(later)), 0.0)
    rows = batcher.collect().tables["topology_components"].to_pylist()
    assert rows[0]["valid_from"].isoformat() == "2026-01-31T12:00:00+00:00"


def test_a_placement_becomes_a_row_and_a_tombstone_none() -> None:
    batcher = Batcher()
    batcher.add(message("skh.placement", encoded(PLACED)), 0.0)
    batcher.add(message("skh.placement", b"", offset=1), 0.0)
    (row,) = batcher.collect().tables["placement"].to_pylist()
    assert (row["node_id"], row["job"], row["rnics"]) == ("c1", "llm", ["10.0.0.1"])


def test_a_job_becomes_a_row_with_what_its_sources_said() -> None:
    known = Job(
        job="llm", submitted=Submission(source="slurm", valid_from="2026-01-31T11:00:00Z",
                                        fabric="f1", tenant="blue"),
        size=Size(source="rest", valid_from="2026-01-31T11:00:00Z", containers=8),
    )  # fmt: skip
    batcher = Batcher()
    batcher.add(message("skh.jobs", encoded(known))._replace(time_ms=1_700_000_000_123), 0.0)
    batcher.add(message("skh.jobs", b"", offset=1), 0.0)
    (row,) = batcher.collect().tables["jobs"].to_pylist()
    assert (row["job"], row["fabric"], row["tenant"], row["containers"]) == ("llm", "f1", "blue", 8)
    assert (row["submitted_by"], row["ended"], row["skeleton"]) == ("slurm", None, True)
    assert row["updated"].timestamp() == 1_700_000_000.123


def test_a_skeleton_becomes_a_row_whose_lists_belong_together() -> None:
    batcher = Batcher()
    batcher.add(message("skh.skeletons", encoded(SKELETON)), 0.0)
    batcher.add(message("skh.skeletons", b"", offset=1), 0.0)
    (row,) = batcher.collect().tables["job_skeletons"].to_pylist()
    assert row["rnics"] == ["10.0.0.1", "10.0.1.2"]
    assert (row["hosts"], row["clusters"], row["stage_of"]) == (["h1", "h2"], [0, 1], [0, 1])
    assert row["experts"] == [-1, -1], "none was seen"
    assert (row["pairs_a"], row["pairs_b"]) == (["10.0.0.1"], ["10.0.1.2"])
    assert row["declined"] == ""


def test_a_heartbeat_becomes_a_row_that_says_how_late_it_came() -> None:
    batcher = Batcher()
    document = heartbeat.encode(beat("h1", 1_767_225_661.5, cpu_steal=0.5))
    arrived = message("skh.heartbeats", document)._replace(time_ms=1_767_225_661_550)
    batcher.add(arrived, 0.0)
    (row,) = batcher.collect().tables["heartbeats"].to_pylist()
    assert row["minute"].isoformat() == "2026-01-01T00:01:00+00:00"
    assert (row["behind_ms"], row["cpu_steal"], row["sent"]) == (50, 0.5, 100)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (message("skh.topology", b"{}"), "no host with an rnic"),
        (message("skh.topology", b""), "topology"),
        (message("skh.placement", b'{"node_id": "c1"}'), "placement"),
        (message("skh.heartbeats", b"{}"), "node_sn"),
        (message("skh.heartbeats", b'{"node_sn": "h1", "time": 9000000000000000000}'), "2106"),
    ],
)
def test_what_workers_read_too_is_stored_as_a_dead_letter_and_not_published(
    bad: Message, reason: str
) -> None:
    batcher = Batcher()
    batcher.add(bad, 0.0)
    batch = batcher.collect()
    (letter,) = batch.tables.pop("dead_letters").to_pylist()
    assert reason in letter["reason"]
    assert batch.letters == []
    assert batch.tables == {}
