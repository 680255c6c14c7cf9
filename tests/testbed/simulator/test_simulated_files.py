"""Messages and files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from schemas import topics
from schemas.documents import heartbeat, ping, topology
from schemas.limits import LIMITS
from schemas.wire import codecs
from skeletonhunter.diagnosis.ping_files import read
from testbed.faults.kinds import Fault
from testbed.scoring.truth import load as load_truths
from testbed.simulator import files, publish, records, sinks
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.topologies import clos
from testbed.topologies.clos import ClosSpec

START_NS = 1_800_000_000 * SECOND_NS
SPEC = ClosSpec(name="t", hosts=8, rails=2, hosts_per_segment=4, aggs=0, hosts_per_job=8)


def simulation() -> Simulation:
    document = clos.build(SPEC, 1)
    down = Fault(
        kind="rnic_down", component=f"rnic:{document.hosts[0].rnics[0].real_ip}", start_s=2
    )
    return Simulation(document, [down], seed=1, start_ns=START_NS)


def rows_of(message: publish.Message) -> list[dict[str, object]]:
    with pa.ipc.open_stream(message.value) as reader:
        rows: list[dict[str, object]] = reader.read_all().to_pylist()
    return rows


@pytest.mark.parametrize("max_records", [10, 512])
def test_messages_hold_every_record_once_under_its_own_host(max_records: int) -> None:
    second = simulation().second(3)
    got = []
    for message in publish.messages(second, max_records=max_records):
        rows = rows_of(message)
        assert len(rows) == message.records <= max_records
        assert {row["src_node_sn"] for row in rows} == {message.node_sn}
        got += rows
    expected = records.plain(second.pings).to_pylist()

    def order(row: dict[str, object]) -> str:
        return json.dumps(row, sort_keys=True)

    assert sorted(got, key=order) == sorted(expected, key=order)


def test_agents_publish_late_but_never_before_a_probe_is_complete() -> None:
    for message in publish.messages(simulation().second(3)):
        for row in rows_of(message):
            took = SECOND_NS // 2 if row["dial"] == "timeout" else 0
            wait = (message.publish_ns - int(str(row["ping_time"])) - took) / SECOND_NS
            assert -0.002 < wait <= 1.002


def test_messages_of_many_seconds_come_in_the_order_of_publication() -> None:
    seconds = [simulation().second(i) for i in range(5)]
    order = [message.publish_ns for message in publish.published(seconds)]
    assert order == sorted(order)
    assert len(order) == sum(len(publish.messages(second)) for second in seconds)


@pytest.mark.parametrize("name", files.FORMATS)
def test_a_directory_holds_records_heartbeats_topology_and_truth(tmp_path: Path, name: str) -> None:
    made = simulation()
    written = files.write(made, tmp_path / "out", 5, name)
    if name == "parquet":
        table = pa.parquet.read_table(written.pings)
    elif name == "arrow":
        table = pa.ipc.open_stream(str(written.pings)).read_all()
    elif name == "csv":
        table = pa.csv.read_csv(written.pings)
    else:
        rows = [json.loads(line) for line in written.pings.read_bytes().splitlines()]
        table = pa.Table.from_pylist(rows)
    expected = pa.Table.from_batches([records.plain(second.pings) for second in made.seconds(5)])
    assert table.num_rows == written.records == expected.num_rows
    for column in ("ping_time", "latency", "src_port"):
        assert table.column(column).to_pylist() == expected.column(column).to_pylist()
    beats = [heartbeat.decode(line) for line in written.heartbeats.read_bytes().splitlines()]
    assert len(beats) == written.beats == 5 * SPEC.hosts
    assert topology.load(written.topology) == made.topology
    (truth,) = load_truths(written.truth)
    assert (truth.symptom, truth.end) == ("unconnectivity", None)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="choose one of parquet, arrow, csv, ndjson"):
        files.write(simulation(), tmp_path, 1, "xml")


@pytest.mark.parametrize("name", files.FORMATS)
def test_the_same_seed_writes_the_same_bytes(tmp_path: Path, name: str) -> None:
    first, second = (files.write(simulation(), tmp_path / side, 4, name) for side in "ab")
    for one, other in zip(first[:6], second[:6], strict=True):
        assert Path(str(one)).read_bytes() == Path(str(other)).read_bytes()


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_columns_are_those_of_the_ping_record_whatever_their_encoding(
    tmp_path: Path, name: str
) -> None:
    written = files.write(simulation(), tmp_path, 3, name)
    decoded = [block.batch for block in read(str(written.pings))]
    assert sum(batch.num_rows for batch in decoded) == written.records
    known = {
        column.name: pa.type_for_alias(column.type) for column in (*ping.COLUMNS, *ping.EXTRA_STATS)
    }
    for batch in decoded:
        for field in batch.schema:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            assert kind == known[field.name]


def test_an_arrow_file_of_a_few_seconds_is_a_message_too(tmp_path: Path) -> None:
    written = files.write(simulation(), tmp_path, 2, "arrow")
    decoded = codecs.decode(written.pings.read_bytes(), topics.ARROW)
    assert (decoded.batch.num_rows, decoded.rejects) == (written.records, [])


def test_a_second_is_written_in_batches_that_readers_of_messages_accept(tmp_path: Path) -> None:
    """... and in Parquet as one row group, because small ones repeat their dictionaries."""
    batch = pa.concat_batches([simulation().second(3).pings] * 1200)
    for name in ("arrow", "parquet"):
        sink = sinks.SINKS[name](tmp_path / name, batch.schema)
        sink.write_batch(batch)
        sink.close()
    with pa.ipc.open_stream(str(tmp_path / "arrow")) as reader:
        sizes = [part.num_rows for part in reader]
    assert sum(sizes) == batch.num_rows > LIMITS.rows >= max(sizes)
    assert pa.parquet.ParquetFile(tmp_path / "parquet").num_row_groups == 1
