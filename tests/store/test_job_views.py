"""Views of jobs: what is a job's by place and time, once for each job, with rails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest
from builders.monitoring import path_windows
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import put_placement, put_topology
from builders.streams.sink_messages import samples

from schemas.documents.topology import Endpoint
from store import migrate
from store.client import Store, open_store
from streams.sink.batch import Batcher

NOON = 1_769_860_800  # 2026-01-31 12:00
RNICS = {"h1": "10.0.0.1", "h2": "10.0.1.2"}


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(open_store(f"chdb:{tmp_path_factory.mktemp('jobs') / 'store'}")) as opened:
        migrate.migrate(opened)
        yield opened


@pytest.fixture
def store(migrated: Store) -> Iterator[Store]:
    yield migrated
    for table in ("placement", "topology_components", "path_windows", "path_half_minutes",
                  "tor_minutes", "pings", "throughput"):  # fmt: skip
        migrated.execute(f"TRUNCATE TABLE {table}")


def place(store: Store, node_id: str, host: str, job: str, time: str, **fields: Any) -> None:
    """A container uses its host's rnic from a time of 2026-01-31 on."""
    put_placement(
        store, node_id, host, job=job, valid_from=f"2026-01-31T{time}Z",
        endpoints=[Endpoint("172.16.0.1", RNICS[host])], **fields,
    )  # fmt: skip


def windows(store: Store, *rows: dict[str, Any]) -> None:
    store.insert("path_windows", path_windows.table(rows))


def jobs(store: Store, view: str = "job_path_windows") -> list[tuple[str, int]]:
    """Job and path of each row."""
    rows = store.rows(f"SELECT job, path_id FROM {view} ORDER BY job, path_id")
    return [(row["job"], row["path_id"]) for row in rows]


def test_overlay_windows_are_of_the_job_of_their_containers(store: Store) -> None:
    place(store, "c1", "h1", "llm", "11:00:00")
    place(store, "c9", "h2", "bert", "11:00:00")  # on the rnic of c2, which has no job
    windows(store, window(NOON, 1, layer="overlay"), window(NOON, 2, layer="overlay",
            src_node_id="c2", dst_node_id="c3"))  # fmt: skip
    assert jobs(store) == jobs(store, "job_path_minutes") == [("llm", 1)]


def test_underlay_windows_are_of_all_jobs_whose_containers_use_an_rnic(store: Store) -> None:
    place(store, "c1", "h1", "llm", "11:00:00")
    place(store, "c2", "h2", "bert", "11:00:00")
    windows(store, window(NOON, 1, src_node_id="", dst_node_id=""))
    both = [("bert", 1), ("llm", 1)]
    assert jobs(store) == jobs(store, "job_path_minutes") == both


def test_a_path_with_both_ends_in_a_job_is_there_once(store: Store) -> None:
    for node_id, host in (("c1", "h1"), ("c2", "h2"), ("c3", "h1"), ("c4", "h2")):
        place(store, node_id, host, "llm", "11:00:00")
        place(store, node_id, host, "llm", "11:30:00", state="draining")
    windows(store, window(NOON, 1, layer="overlay"), window(NOON, 2, src_node_id=""))
    assert jobs(store) == [("llm", 1), ("llm", 2)]
    (minute,) = store.rows("SELECT sum(sent) AS sent FROM job_path_minutes")
    assert minute["sent"] == 60, "each probe once"


def test_a_path_that_leads_to_a_job_from_elsewhere_is_the_job_s(store: Store) -> None:
    place(store, "c2", "h2", "llm", "11:00:00")
    windows(store, window(NOON, 1, layer="overlay"), window(NOON, 2))
    assert jobs(store) == [("llm", 1), ("llm", 2)]


def test_windows_are_of_the_job_that_a_container_had_then(store: Store) -> None:
    place(store, "c1", "h1", "old", "11:00:00")
    place(store, "c1", "h1", "new", "12:00:30")
    place(store, "c1", "h1", "new", "12:01:00", state="gone")
    place(store, "c2", "h2", "new", "11:00:00")
    place(store, "c2", "h2", "", "12:00:00")
    windows(store, *(window(NOON + 30 * at, at + 2, layer="overlay") for at in range(-1, 3)))
    assert jobs(store) == [("new", 1), ("new", 3), ("old", 1), ("old", 2)]


def test_the_same_names_of_another_fabric_are_others(store: Store) -> None:
    place(store, "c1", "h1", "llm", "11:00:00", fabric="f2")
    windows(store, window(NOON, 1, layer="overlay"), window(NOON, 2))
    assert jobs(store) == []


def test_an_rnic_that_is_named_as_a_container_is_none(store: Store) -> None:
    place(store, "10.0.0.1", "h2", "llm", "11:00:00")
    windows(store, window(NOON, 1, dst_real_ip="10.0.9.9"))
    assert jobs(store) == []


def test_containers_of_the_topology_document_have_jobs_until_the_next_document(
    store: Store,
) -> None:
    put_topology(store, valid_s=NOON)
    windows(store, window(NOON - 30, 1, layer="overlay"), window(NOON, 2, layer="overlay"))
    assert jobs(store) == [("llm", 2)]
    (span,) = store.rows("SELECT node_id, node_sn, valid_until FROM placement_spans")
    assert (span["node_id"], span["node_sn"], span["valid_until"]) == ("c1", "h1", None)
    put_topology(store, valid_s=NOON + 60)
    assert len(store.rows("SELECT 1 FROM placement_spans WHERE valid_until IS NULL")) == 1
    place(store, "c1", "h1", "bert", "11:00:00")  # a document of its own is what counts
    assert jobs(store) == [("bert", 1), ("bert", 2)]


def test_rails_are_those_of_the_topology_and_unknown_without(store: Store) -> None:
    place(store, "c1", "h1", "llm", "11:00:00")
    windows(store, window(NOON, 1, dst_real_ip="10.0.9.9"))
    question = "SELECT src_rail, dst_rail FROM {}"
    for view in ("job_path_windows", "job_path_minutes"):
        assert store.rows(question.format(view)) == [{"src_rail": None, "dst_rail": None}]
    put_topology(store, valid_s=NOON)
    for view in ("job_path_windows", "job_path_minutes"):
        assert store.rows(question.format(view)) == [{"src_rail": 0, "dst_rail": None}]
    (rail,) = store.rows("SELECT * FROM rnic_rails WHERE rnic = '10.0.0.1'")
    assert rail == {"fabric": "f1", "rnic": "10.0.0.1", "component": "rnic:10.0.0.1", "host": "h1",
                    "tor": "t1", "rail": 0}  # fmt: skip


def test_ping_records_are_of_jobs_too(store: Store) -> None:
    place(store, "c1", "h1", "llm", "11:00:00")
    put_topology(store, valid_s=NOON)
    records = [
        {"path_id": 1, "agent_type": "underlay", "src_idc": "f1", "src_real_ip": "10.0.0.1"},
        {"path_id": 2, "agent_type": "overlay", "src_idc": "f1", "dst_node_id": "c1"},
        {"path_id": 3, "agent_type": "overlay", "src_idc": "f2", "src_node_id": "c1"},
    ]
    rows = pa.Table.from_pylist([
        {"src_real_ip": "", "src_node_id": "", "dst_node_id": "", **each, "latency_ns": 9000}
        for each in records
    ])  # fmt: skip
    rows = rows.set_column(
        rows.column_names.index("path_id"), "path_id", rows["path_id"].cast(pa.uint64())
    )
    time = pa.array([NOON * 10**9] * 3, pa.timestamp("ns", "UTC"))
    rows = rows.append_column("ping_time", time)
    store.insert("pings", rows)
    assert jobs(store, "job_pings") == [("llm", 1), ("llm", 2)]
    (first, _) = store.rows("SELECT latency, src_rail FROM job_pings ORDER BY path_id")
    assert first == {"latency": 9.0, "src_rail": 0}


def test_throughput_is_of_the_job_that_uses_the_rnic_then(store: Store) -> None:
    place(store, "c1", "h1", "llm", "12:00:10")
    place(store, "c3", "h1", "llm", "11:00:00")  # the same rnic: counted once
    place(store, "c3", "h1", "bert", "12:00:40")
    put_topology(store, valid_s=NOON)
    batcher = Batcher()
    batcher.add(samples(*({"time": 10**9 * (NOON + s), "tx_bytes": s} for s in range(60))), 0.0)
    store.insert("throughput", batcher.collect().tables["throughput"])
    rows = store.rows("SELECT * FROM job_throughput_minutes ORDER BY job")
    seconds = [(row["job"], row["seconds"], row["tx_bytes_per_s"]) for row in rows]
    assert seconds == [("bert", 20, 49.5), ("llm", 60, 29.5)]
    assert {(row["component"], row["rail"]) for row in rows} == {("rnic:10.0.0.1", 0)}


@pytest.mark.parametrize("view", ["path_minutes", "component_health", "job_path_minutes"])
def test_a_question_about_an_hour_reads_that_hour_of_half_minutes_only(
    store: Store, view: str
) -> None:
    store.execute(
        "INSERT INTO path_half_minutes (window_start, path_id, fabric, layer)"
        f" SELECT {NOON} + 30 * intDiv(number, 10), number % 10, 'f1', 'overlay'"
        " FROM numbers(240000)"
    )
    plan = store.rows(
        f"EXPLAIN indexes = 1 SELECT sum(sent) FROM {view}"
        f" WHERE minute >= toDateTime({NOON}) AND minute < toDateTime({NOON + 3600})"
    )
    text = " ".join(str(row["explain"]) for row in plan)
    for read, there in re.findall(r"by_minute.*?Granules: (\d+)/(\d+)", text, re.DOTALL):
        assert (int(read), int(there)) <= (2, 30)
    assert "by_minute" in text
