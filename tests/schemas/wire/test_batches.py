"""Many messages checked together: a bad message costs itself, and each has its limits."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from builders.schemas.record_formats import BARE, FULL, TIME_NS, WRITERS, arrow, csv, ndjson, table

from schemas import topics
from schemas.limits import LIMITS, Limits
from schemas.wire import codecs
from schemas.wire.batches import decode_all

SECOND = 10**9


def good_rows(*messages: tuple[bytes, str], limits: Limits = LIMITS) -> list[int]:
    """Good rows of each message."""
    joined = decode_all(messages, limits)
    found = [0] * len(messages)
    for index in joined.message.tolist():
        found[index] += 1
    return found


# --- checked together ---------------------------------------------------------------------------


def test_a_message_that_makes_the_joint_check_fail_costs_only_itself() -> None:
    far = table([BARE]).set_column(3, "ping_time", pa.array([2**60], pa.timestamp("s")))
    near = table([BARE]).set_column(3, "ping_time", pa.array([10**9], pa.timestamp("s")))
    raws = [codecs.encode_arrow(far if n == 37 else near) for n in range(64)]
    joined = decode_all([(raw, topics.ARROW) for raw in raws])
    assert [index for index, _ in joined.errors] == [37]
    assert "ping_time" in str(joined.errors[0][1])
    assert sorted(joined.message.tolist()) == [n for n in range(64) if n != 37]


def test_an_unexpected_error_of_a_library_is_the_error_of_that_message() -> None:
    def fragile(parsed: Any, limits: Limits) -> Any:
        if "10.9.9.9" in parsed.batch.column("src_ip").to_pylist():
            raise RuntimeError("a library's\nown failure")
        return codecs.check(parsed, limits)

    raws = [arrow({**BARE, "src_ip": f"10.9.9.{n}"}) for n in range(12)]
    joined = decode_all([(raw, topics.ARROW) for raw in raws], check=fragile)
    ((index, why),) = joined.errors
    assert (index, str(why)) == (9, "cannot be read: RuntimeError: a library's own failure")
    assert len(joined.message) == 11


@pytest.mark.parametrize("header", [b"\r", b"x\ry", b"x" * 140_000, b'"', b"\xff"])
def test_an_invalid_csv_header_costs_only_its_message(header: bytes) -> None:
    head, _, line = csv(BARE).partition(b"\n")
    raw = head + b"," + header + b"\n" + line + b",1"
    assert good_rows((raw, topics.CSV), (csv(BARE), topics.CSV))[1] == 1


def test_small_dictionaries_of_many_messages_are_joined() -> None:
    def message(number: int) -> bytes:
        zone = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array([f"z{number}"]))
        return codecs.encode_arrow(table([BARE]).append_column("src_zone_id", zone))

    joined = decode_all([(message(n), topics.ARROW) for n in range(300)])
    assert joined.errors == []
    assert joined.batch.column("src_zone_id").to_pylist() == [f"z{n}" for n in range(300)]


def test_a_fractional_time_leaves_the_times_of_other_rows_exact() -> None:
    rows = [BARE, {**BARE, "ping_time": 1.5}, BARE]
    decoded = codecs.decode(ndjson(*rows), topics.NDJSON)
    assert decoded.batch.column("ping_time").to_pylist() == [TIME_NS, TIME_NS]
    assert [(r.row, r.column) for r in decoded.rejects] == [(1, "ping_time")]


# --- rows beyond a limit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "column", "row"),
    [
        ("fabrics", "src_idc", lambda n: {"src_idc": f"f{n}"}),
        ("seconds", "ping_time", lambda n: {"ping_time": TIME_NS + n * SECOND}),
        ("sources", "src_ip", lambda n: {"src_ip": f"h{n}"}),
        ("sources", "src_ip", lambda n: {"src_node_sn": f"h{n}"}),
    ],
)
@pytest.mark.parametrize("kind", [topics.ARROW, topics.NDJSON])
def test_rows_with_one_source_fabric_or_second_too_many_are_rejected(
    limit: str, column: str, row: Any, kind: str
) -> None:
    most = getattr(LIMITS, limit)
    rows = [{**BARE, **row(n)} for n in range(most + 20)]
    good = WRITERS[kind](*rows[:most]), kind
    bad = WRITERS[kind](*rows, rows[0]), kind
    joined = decode_all([good, bad, good])
    assert good_rows(good, bad, good) == [most, most + 1, most], "a value seen before is no new one"
    assert joined.bad == 20
    assert {index for index, _ in joined.rejects} == {1}
    shown = [reject for _, reject in joined.rejects]
    assert [r.column for r in shown] == [column] * 16 + [None]
    assert [r.row for r in shown] == [*range(most, most + 17)]
    assert f"a message may name {most}" in shown[0].reason


def test_a_name_at_the_length_limit_is_accepted() -> None:
    row = {**BARE, "src_node_sn": "h" * 4096, "route": "x" * 65_536}
    assert good_rows((arrow(row), topics.ARROW), (ndjson(row), topics.NDJSON)) == [1, 1]


def test_a_name_of_300_kb_rejects_only_its_row() -> None:
    rows = [BARE, {**BARE, "src_ip": "h" * 300_000}, BARE]
    for kind, write in WRITERS.items():
        joined = decode_all([(write(*rows), kind), (write(BARE), kind)])
        assert joined.message.tolist() == [0, 0, 1], kind
        ((_, reject),) = joined.rejects
        assert (reject.row, len(reject.raw)) == (1, 4096)
        assert (reject.size or 0) > 300_000


def test_a_dictionary_of_100_container_names_over_50_000_rows_is_read() -> None:
    names = [f"a-container-of-some-length-{n:06d}" for n in range(100)]
    rows = 50_000
    columns = {name: pa.array([value]).take(pa.array([0] * rows)) for name, value in BARE.items()}
    for name in ("src_node_id", "dst_node_id", "src_zone_id", "dst_zone_id"):
        columns[name] = pa.DictionaryArray.from_arrays(
            pa.array([n % 100 for n in range(rows)], pa.int32()), pa.array(names)
        )
    raw = codecs.encode_arrow(pa.RecordBatch.from_arrays(list(columns.values()), list(columns)))
    assert good_rows((raw, topics.ARROW)) == [rows]


def test_full_records_are_accepted_in_every_format() -> None:
    messages = [(write(FULL, FULL), kind) for kind, write in WRITERS.items() if kind != topics.CSV]
    assert good_rows(*messages) == [2, 2, 2]
