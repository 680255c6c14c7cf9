"""What one message may hold, and that it costs nothing but itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from record_samples import BARE, FULL, TIME_NS, WRITERS, arrow, csv, ndjson, table

from schemas import identity, topics
from schemas.documents import heartbeat
from schemas.documents.incident import read_incident
from schemas.limits import LIMITS, Limits
from schemas.wire import codecs, window_chunks
from schemas.wire.batches import decode_all
from schemas.wire.window_chunks import Header, WindowsError

SECOND = 10**9


def good_rows(*messages: tuple[bytes, str], limits: Limits = LIMITS) -> list[int]:
    """Good rows of each message."""
    joined = decode_all(messages, limits)
    found = [0] * len(messages)
    for index in joined.message.tolist():
        found[index] += 1
    return found


# --- the joint work -----------------------------------------------------------------------------


def test_a_message_that_breaks_the_joint_work_costs_itself_only() -> None:
    far = table([BARE]).set_column(3, "ping_time", pa.array([2**60], pa.timestamp("s")))
    near = table([BARE]).set_column(3, "ping_time", pa.array([10**9], pa.timestamp("s")))
    raws = [codecs.encode_arrow(far if n == 37 else near) for n in range(64)]
    joined = decode_all([(raw, topics.ARROW) for raw in raws])
    assert [index for index, _ in joined.errors] == [37]
    assert "ping_time" in str(joined.errors[0][1])
    assert sorted(joined.message.tolist()) == [n for n in range(64) if n != 37]


def test_what_a_decoder_raises_unforeseen_is_the_messages_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = codecs.check

    def fragile(parsed: Any, limits: Limits) -> Any:
        if "10.9.9.9" in parsed.batch.column("src_ip").to_pylist():
            raise RuntimeError("a library's\nown failure")
        return check(parsed, limits)

    monkeypatch.setattr(codecs, "check", fragile)
    raws = [arrow({**BARE, "src_ip": f"10.9.9.{n}"}) for n in range(12)]
    joined = decode_all([(raw, topics.ARROW) for raw in raws])
    ((index, why),) = joined.errors
    assert (index, str(why)) == (9, "cannot be read: RuntimeError: a library's own failure")
    assert len(joined.message) == 11


@pytest.mark.parametrize("header", [b"\r", b"x\ry", b"x" * 140_000, b'"', b"\xff"])
def test_a_csv_header_that_is_none_costs_its_message(header: bytes) -> None:
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


def test_one_time_with_a_fraction_does_not_cost_its_neighbours_their_digits() -> None:
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
def test_rows_beyond_a_limit_are_dead_letters_and_the_others_stay(
    limit: str, column: str, row: Any, kind: str
) -> None:
    most = getattr(LIMITS, limit)
    rows = [{**BARE, **row(n)} for n in range(most + 20)]
    good = WRITERS[kind](*rows[:most]), kind
    bad = WRITERS[kind](*rows, rows[0]), kind
    joined = decode_all([good, bad, good])
    assert good_rows(good, bad, good) == [most, most + 1, most], "a name that was there may return"
    assert joined.bad == 20
    assert {index for index, _ in joined.rejects} == {1}
    shown = [reject for _, reject in joined.rejects]
    assert [r.column for r in shown] == [column] * 16 + [None]
    assert [r.row for r in shown] == [*range(most, most + 17)]
    assert f"a message may name {most}" in shown[0].reason


def test_a_name_at_its_limit_passes() -> None:
    row = {**BARE, "src_node_sn": "h" * 4096, "route": "x" * 65_536}
    assert good_rows((arrow(row), topics.ARROW), (ndjson(row), topics.NDJSON)) == [1, 1]


def test_a_name_of_300_kb_costs_its_row() -> None:
    rows = [BARE, {**BARE, "src_ip": "h" * 300_000}, BARE]
    for kind, write in WRITERS.items():
        joined = decode_all([(write(*rows), kind), (write(BARE), kind)])
        assert joined.message.tolist() == [0, 0, 1], kind
        ((_, reject),) = joined.rejects
        assert (reject.row, len(reject.raw)) == (1, 4096)
        assert (reject.size or 0) > 300_000


def test_a_dictionary_that_expands_as_honest_ones_do_is_read() -> None:
    names = [f"a-container-of-some-length-{n:06d}" for n in range(100)]
    rows = 50_000
    columns = {name: pa.array([value]).take(pa.array([0] * rows)) for name, value in BARE.items()}
    for name in ("src_node_id", "dst_node_id", "src_zone_id", "dst_zone_id"):
        columns[name] = pa.DictionaryArray.from_arrays(
            pa.array([n % 100 for n in range(rows)], pa.int32()), pa.array(names)
        )
    raw = codecs.encode_arrow(pa.RecordBatch.from_arrays(list(columns.values()), list(columns)))
    assert good_rows((raw, topics.ARROW)) == [rows]


def test_names_are_remembered_up_to_a_size() -> None:
    text = "n" * 4096
    for number in range(20_000):
        identity.text_hash(f"{text}{number}")
    assert identity.remembered_chars() <= 65 * 2**20


# --- documents ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        b'"time":9223372036854775808', b'"time":-1', b'"time":0', b'"time":1e300',
        b'"time":1,"cpu_steal":1e999', b'"time":1,"cpu_steal":-0.5', b'"time":1,"cpu_steal":2',
        b'"time":1,"scheduling_delay_us":1e300', b'"time":1,"scheduling_delay_us":-1',
        b'"time":1,"fabric":"' + b"f" * 5000 + b'"', b'"time":1,"fabric":"\\ud800"',
        b'"time":1,"x":' + b"[" * 10_000, b'"time":1,"version":"' + b"v" * 100_000 + b'"',
    ],
)  # fmt: skip
def test_a_heartbeat_with_what_no_agent_measures_is_refused(change: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        heartbeat.decode(b'{"node_sn":"h1",' + change + b"}")


@pytest.mark.parametrize("raw", [b"", b"{}", b"[" * 10**6, b"\xff", b'{"incident_id":1}'])
def test_whatever_is_no_incident_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_incident(raw)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("end_s", 10**30), ("end_s", 2**32), ("end_s", -1), ("start_s", 7), ("chunks", 10**9),
        ("chunks", 0), ("chunk", 5), ("chunk", -1), ("partition", -1), ("epoch", 10**30),
        ("watermark_ms", 10**30), ("watermark_ms", -1), ("fabric", "f" * 4097),
    ],
)  # fmt: skip
def test_a_header_with_an_absurd_number_is_refused(field: str, value: Any) -> None:
    header = Header("pane", "f1", 5, 6)._replace(**{field: value})
    with pytest.raises(WindowsError, match=f"bad header {field}|bad header end_s"):
        Header.from_kafka(dict(header.to_kafka()))


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"\xff", b"5", b"[]", b'{"skewed":5}', b'{"skewed":{"h":"x"}}', b"[" * 10**5,
        b'{"skewed":{"h":1e999}}', b'{"x":' + b"[" * 10**5, b'{"x":"' + b"x" * 2**20 + b'"}',
        b'{"skewed":{"' + b"h" * 5000 + b'":1}}',
    ],
)  # fmt: skip
def test_a_punctuation_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(WindowsError, match=r"skh\.windows"):
        window_chunks.check_body(body)
    window_chunks.check_body(b'{"partition":0,"skewed":{"h1":3600.0},"counts":{}}')
    window_chunks.check_body(b"")


def test_a_chunk_without_what_a_localizer_counts_with_is_refused() -> None:
    row = {"path_id": 5, "sent": 3, "lost": 1}
    with pytest.raises(WindowsError, match="is null in this pane chunk"):
        window_chunks.check_whole("pane", pa.RecordBatch.from_pylist([row], window_chunks.PANE))


def test_full_records_pass_in_every_format() -> None:
    messages = [(write(FULL, FULL), kind) for kind, write in WRITERS.items() if kind != topics.CSV]
    assert good_rows(*messages) == [2, 2, 2]
