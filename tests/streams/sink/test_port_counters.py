"""Counters in evidence become rows of the host that read them; what they gained has a kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from builders.streams.sink_messages import counters, message

from localizer.host_evidence import port_signs
from schemas import topics
from schemas.documents.requests import evidence
from schemas.signing.keys import KeyRing
from schemas.signing.signature import sign
from store import migrate
from store.client import Store, open_store
from streams.admission.admission import Admission
from streams.sink.batch import Batcher, Message

RING = KeyRing({"k1": b"s" * 32})
TIMES = [f"2026-01-31T12:0{minute}:00Z" for minute in range(5)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"chdb:{tmp_path / 'store'}")) as opened:
        migrate.migrate(opened)
        yield opened


def read(store: Store, *messages: Message) -> None:
    batcher = Batcher()
    for each in messages:
        batcher.add(each, 0.0)
    store.insert("port_counters", batcher.collect().tables["port_counters"])


def gains(store: Store, columns: str = "kind, gained") -> list[tuple[object, ...]]:
    rows = store.rows(f"SELECT {columns} FROM port_counter_gains ORDER BY counter, until")
    return [tuple(row.values()) for row in rows]


def test_each_counter_of_a_reading_becomes_a_row_that_names_its_incident() -> None:
    batcher = Batcher()
    batcher.add(counters(TIMES[0], symbol_error=5, port_state=4), 0.0)
    rows = batcher.collect().tables["port_counters"].to_pylist()
    assert [(row["counter"], row["value"]) for row in rows] == [
        ("symbol_error", 5), ("port_state", 4),
    ]  # fmt: skip
    assert {row["time"].isoformat() for row in rows} == {"2026-01-31T12:00:00+00:00"}
    assert {(row["device"], row["rnic"], row["incident_id"], row["request_id"]) for row in rows} \
        == {("mlx5_0/1", "10.0.0.1", "AAAA", "r1")}  # fmt: skip


def test_evidence_without_counters_is_no_row_and_no_dead_letter() -> None:
    found = evidence.parse(counters(TIMES[0]).value)
    plain = msgspec.structs.replace(found, kind="flow_table", counters=[], flow_table="$ x")
    batcher = Batcher()
    batcher.add(message("skh.evidence", msgspec.json.encode(plain)), 0.0)
    batch = batcher.collect()
    assert (batch.tables, batch.letters) == ({}, [])
    assert batch.offsets == {("skh.evidence", 0): 1}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (message("skh.evidence", b"{}"), "request_id"),
        (counters("yesterday", symbol_error=1), "yesterday"),
        (counters("2200-01-01T00:00:00Z", symbol_error=1), "not of our age"),
        (counters(TIMES[0], symbol_error=-1), "symbol_error of mlx5_0/1 is -1"),
        (counters(TIMES[0], symbol_error=2**63), "is 9223372036854775808"),
    ],
)
def test_evidence_that_cannot_be_used_is_published_as_a_dead_letter(
    bad: Message, reason: str
) -> None:
    batcher = Batcher()
    batcher.add(bad, 0.0)
    batch = batcher.collect()
    (letter,) = batch.letters
    assert reason in letter.reason
    assert batch.tables == {}


def signed(message: Message, by: str, client: str = "") -> Message:
    key = RING.host_key("f1", by)
    headers = sign(key, "skh.evidence", topics.JSON, message.value, 0, client=client)
    return message._replace(headers=headers, key=by.encode())


@pytest.mark.parametrize(
    ("by", "client", "rows", "letters"),
    [("h1", "", 1, 0), ("h2", "", 0, 1), ("h1", "c1", 0, 0)],
)
def test_only_a_host_itself_reports_its_ports(
    by: str, client: str, rows: int, letters: int
) -> None:
    batcher = Batcher(admission=Admission(lambda: RING))
    batcher.add(signed(counters(TIMES[0], symbol_error=5), by, client), 0.0)
    batch = batcher.collect()
    assert sum(table.num_rows for table in batch.tables.values()) == rows
    assert len(batch.letters) == letters


def test_what_a_counter_gained_is_between_two_readings(store: Store) -> None:
    values = (5, 5, 12, 3, 3)  # nothing, seven more, a reset, nothing
    messages = [counters(t, symbol_error=v) for t, v in zip(TIMES, values, strict=True)]
    for _ in range(2):  # a replay changes nothing
        read(store, *messages)
    assert gains(store) == [("damaged", 7), ("damaged", 3)]
    ((component, since, until),) = gains(store, "component, since, until")[:1]
    assert component == "rnic:10.0.0.1"
    assert [str(each)[11:16] for each in (since, until)] == ["12:01", "12:02"]


def test_states_are_no_counts(store: Store) -> None:
    states = {"port_state": 1, "carrier": 0, "admin_up": 0, "phys_state": 1, "bond_ports_up": 0}
    read(store, counters(TIMES[0], **states),
         counters(TIMES[1], **{name: value + 1 for name, value in states.items()}))  # fmt: skip
    assert gains(store) == []


KINDS = {
    "damaged": port_signs.DAMAGED, "link_down": port_signs.DOWNS, "dropped": port_signs.DROPPED,
    "unsent": port_signs.UNSENT, "mark": port_signs.MARKS,
    "pause": ("rx_prio3_pause", "rx_pause_ctrl_phy", "rx_pause", "rx_prio0_pause_duration"),
    "transport": ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err"),
    "other": ("tx_prio3_pause", "port_rcv_data", "rx_prio3_pause_transition"),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_kinds_are_those_that_verdicts_go_by(store: Store, kind: str) -> None:
    if kind == "pause":
        assert port_signs.signs(dict.fromkeys(KINDS[kind], 0), dict.fromkeys(KINDS[kind], 1)).pauses
    read(store, counters(TIMES[0], **dict.fromkeys(KINDS[kind], 1)),
         counters(TIMES[1], **dict.fromkeys(KINDS[kind], 3)))  # fmt: skip
    assert gains(store) == [(kind, 2)] * len(KINDS[kind])
