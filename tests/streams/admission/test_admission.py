"""Which messages and records are taken when senders must sign."""

from __future__ import annotations

from typing import Any

import pytest
from builders.streams.ping_records import START_S, batch, message, ping

from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.placement import Placement
from schemas.documents.topology import Container, Endpoint, Host, Rnic, Topology
from schemas.limits import LIMITS
from schemas.signing.headers import KEY_ID, Refused
from schemas.signing.keys import KeyRing
from schemas.signing.signature import sign
from schemas.wire.batches import decode_all
from streams.admission.admission import Admission
from streams.admission.ownership import Ownership
from streams.admission.parameters import DEFAULT
from streams.kafka.messages import InMessage
from streams.sink.batch import Batcher, Message
from streams.sink.rows import Place
from streams.windowing.partition import PartitionWorker

RING = KeyRing({"k1": b"m" * 32})
PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name
TOPOLOGY = Topology(
    fabric="f1",
    hosts=[Host(f"h{n}", [Rnic(f"10.0.0.{n}")]) for n in (1, 2, 3)],
    containers=[
        Container(
            f"box-{n}", f"h{n}", tenant=f"t{n}", endpoints=[Endpoint("172.16.0.1", f"10.0.0.{n}")]
        )
        for n in (1, 2)
    ],
)  # fmt: skip


def signed(
    rows: list[dict[str, Any]], by: str = "h1", *, fabric: str = "f1", offset: int = 0, **how: Any
) -> InMessage:
    made = message(offset, rows)
    at = how.pop("at", made.time_ms * 10**6)
    headers = sign(RING.host_key(fabric, by), PINGS, topics.ARROW, made.value, at, **how)
    return made._replace(headers=headers, key=by.encode())


def admission(**how: Any) -> Admission:
    return Admission(lambda: RING, **how)


def reasons(found: Admission) -> dict[str, int]:
    return {reason: count for reason, count in found.refused.items() if count}


def test_records_that_a_host_signs_as_its_own_are_accepted_unchanged() -> None:
    messages = [signed([ping(s, src=h) for s in range(4)], h) for h in ("h1", "h2")]
    plain = decode_all([(m.value, topics.ARROW) for m in messages])
    found = admission(ownership=Ownership(TOPOLOGY)).pings(messages, [0, 0])
    assert found.batch.equals(plain.batch)
    assert found.message.tolist() == plain.message.tolist()
    assert not found.errors
    assert not found.rejects


def test_without_a_key_ring_every_sender_is_accepted() -> None:
    found = Admission().pings([message(0, [ping()])], [0])
    assert found.batch.num_rows == 1


def test_an_unsigned_or_badly_signed_message_is_a_dead_letter_and_counted() -> None:
    good = signed([ping()])
    stolen = good._replace(value=signed([ping(1)], "h1").value)
    stranger = good._replace(headers=good.headers | {KEY_ID: b"other"})
    ahead = signed([ping()], at=(START_S + DEFAULT.future_s + 10) * 10**9)
    rekeyed = good._replace(key=b"h2")
    messages = [message(0, [ping()]), stolen, stranger, ahead, rekeyed, good]
    found = admission()
    joined = found.pings(messages, [0] * len(messages))
    assert joined.message.tolist() == [5]
    assert [index for index, _ in joined.errors] == [0, 1, 2, 3, 4]
    assert reasons(found) == {
        "unsigned": 1, "bad_signature": 2, "unknown_sender": 1, "future": 1,
    }  # fmt: skip


def test_an_agent_that_was_cut_off_for_an_hour_is_accepted() -> None:
    late = signed([ping()])._replace(time_ms=(START_S + 3600) * 1000)
    assert admission().pings([late], [0]).batch.num_rows == 1


def test_unsigned_messages_are_accepted_beside_signed_ones_only_when_configured() -> None:
    joined = admission(unsigned=True).pings([message(0, [ping()]), signed([ping()], "h2")], [0, 0])
    assert joined.message.tolist() == [0]
    assert [reject.column for _, reject in joined.rejects] == ["src_node_sn"]


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ({"src": "h2"}, "src_node_sn"),
        ({"src_idc": "f2"}, "src_idc"),
        ({"src_idc": ""}, "src_idc"),
        ({"src_node_sn": None}, "src_node_sn"),
        ({"src_node_id": "box-2"}, "src_node_id"),
        ({"src_node_id": "h2"}, "src_node_id"),
        ({"src_real_ip": "10.0.0.2"}, "src_real_ip"),
        ({"src_node_id": "box-1", "src_tenant_id": "t2"}, "src_tenant_id"),
    ],
)
def test_a_record_in_the_name_of_another_sender_is_refused_and_names_both(
    row: dict[str, Any], column: str
) -> None:
    found = admission(ownership=Ownership(TOPOLOGY))
    joined = found.pings([signed([ping(), ping(1) | _named(row), ping(2)])], [0])
    assert joined.batch.num_rows == 2
    ((index, reject),) = joined.rejects
    assert (index, reject.row, reject.column) == (0, 1, column)
    assert "h1" in reject.reason
    assert reasons(found) == {"foreign_record": 1}


def _named(row: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in ping(**row).items() if k in row or k == "src_node_sn"} | (
        {} if "src" in row or "src_node_sn" in row else {"src_node_sn": "h1"}
    )


def test_own_containers_and_unknown_names_are_accepted() -> None:
    rows = [
        ping(0, src_node_id="box-1", src_tenant_id="t1"),
        ping(1, src_node_id="box-1"),
        ping(2, src_node_id="new-box", src_tenant_id="t9"),
        ping(3, src_real_ip="10.9.9.9"),
    ]
    joined = admission(ownership=Ownership(TOPOLOGY)).pings([signed(rows)], [0])
    assert joined.batch.num_rows == len(rows), joined.rejects


def test_a_container_that_has_moved_may_be_probed_from_both_its_hosts() -> None:
    known = Ownership(TOPOLOGY)
    found = admission(ownership=known)
    row = [ping(0, src="h3", src_node_id="box-1")]
    assert found.pings([signed(row, "h3")], [0]).batch.num_rows == 0
    known.add(
        Placement(
            node_id="box-1", node_sn="h3", state="ready", valid_from="2026-01-01T00:00:00Z",
            fabric="f1",
        )
    )  # fmt: skip
    assert found.pings([signed(row, "h3")], [0]).batch.num_rows == 1
    assert found.pings([signed([ping(src_node_id="box-1")])], [0]).batch.num_rows == 1


def test_a_relays_client_sends_for_its_own_container_and_tenant_only() -> None:
    own = {"src_node_id": "box-1", "src_tenant_id": "t1"}
    rows = [
        ping(0, **own), ping(1, **own | {"src_node_id": "box-7"}), ping(2),
        ping(3, **own | {"src_tenant_id": "t7"}), ping(4, **own),
    ]  # fmt: skip
    joined = admission().pings([signed(rows, client="box-1", tenant="t1")], [0])
    assert joined.batch.num_rows == 2
    assert [(r.row, r.column) for _, r in joined.rejects] == [
        (1, "src_node_id"), (2, "src_node_id"), (3, "src_tenant_id"),
    ]  # fmt: skip


def test_a_message_full_of_forgeries_makes_a_bounded_number_of_dead_letters() -> None:
    worker = PartitionWorker(0, epoch=1, admission=(found := admission()))
    bad = ping(0.05) | {"dial": "maybe"}
    rows = [ping(), bad, *(ping(n / 10, src="h2") for n in range(500)), ping(51)]
    out = worker.step([signed(rows)]) + worker.finish()
    letters = [dict(o.headers) for o in out if o.topic == topics.DEAD_LETTER.name]
    lines = [int(each["line"]) for each in letters]
    summary = 3 + LIMITS.letters  # at the first row that has no letter of its own
    assert sorted(lines) == [2, *range(3, summary), summary]
    assert letters[lines.index(summary)]["count"] == b"%d" % (500 - LIMITS.letters)
    counts = worker.counts
    assert (counts.records, counts.dead_lettered) == (503, 501)
    assert reasons(found) == {"foreign_record": 500}


def test_the_sink_stores_the_same_dead_letters_under_the_same_keys() -> None:
    messages = [
        signed([ping(), ping(1, src="h2")]), message(1, [ping()]),
        signed([ping(2, src_node_id="h3")] * 20, offset=2), signed([ping(3)], offset=3),
    ]  # fmt: skip
    worker = PartitionWorker(2, 1, admission=admission(ownership=Ownership(TOPOLOGY)))
    sent = [o for o in worker.step(messages) if o.topic == topics.DEAD_LETTER.name]
    batcher = Batcher(admission=admission(ownership=Ownership(TOPOLOGY)))
    for each in messages:
        place = Place(PINGS, 2, each.offset)
        batcher.add(Message(place, each.value, each.headers, each.key, each.time_ms), 0.0)
    for number, letter in enumerate(sent):
        place = Place(topics.DEAD_LETTER.name, 0, number)
        batcher.add(Message(place, letter.value, dict(letter.headers)), 0.0)
    tables = batcher.collect().tables
    stored = [tuple(row.items()) for row in tables["dead_letters"].to_pylist()]
    own, published = stored[: len(sent)], stored[len(sent) :]
    assert sorted(own) == sorted(published)
    assert tables["pings"].num_rows == 2


# --- heartbeats -------------------------------------------------------------------------------


def beat(by: str = "h1", **fields: Any) -> InMessage:
    sent = Heartbeat(**{"node_sn": by, "time": START_S * 10**9, "fabric": "f1"} | fields)
    raw = heartbeat.encode(sent)
    headers = sign(RING.host_key("f1", by), BEATS, topics.JSON, raw, START_S * 10**9)
    return InMessage(0, START_S * 1000, raw, headers, by.encode())


def test_a_heartbeat_is_its_own_hosts_or_refused() -> None:
    found = admission()
    assert found.heartbeat(beat(), 0).node_sn == "h1"
    for forged, reason in (
        (beat(node_sn="h2"), "foreign_record"),
        (beat(fabric="f2"), "foreign_record"),
        (beat(time=(START_S + 2 * DEFAULT.future_s) * 10**9), "future"),
        (beat()._replace(headers={}), "unsigned"),
        (beat()._replace(value=beat(alive=False).value), "bad_signature"),
    ):
        with pytest.raises(Refused) as why:
            found.heartbeat(forged, 0)
        assert why.value.reason == reason
    assert reasons(found) == {
        "foreign_record": 2, "future": 1, "unsigned": 1, "bad_signature": 1,
    }  # fmt: skip


def test_a_container_does_not_speak_for_its_hosts_health() -> None:
    raw = beat().value
    headers = sign(
        RING.host_key("f1", "h1"), BEATS, topics.JSON, raw, START_S * 10**9, client="box-1"
    )
    with pytest.raises(Refused, match="box-1"):
        admission().heartbeat(InMessage(0, START_S * 1000, raw, headers, b"h1"), 0)


# --- who sent it ------------------------------------------------------------------------------


def test_the_sender_is_the_signer_or_the_key_where_nothing_is_signed() -> None:
    assert admission().sender(signed([ping()])) == "f1/h1"
    mixed = [signed([ping()]), message(1, [ping()])]
    for found in (admission(unsigned=True), Admission()):
        names, known = found.senders(mixed)
        assert names == [*map(found.sender, mixed)]
        assert known == [*map(found.signed, mixed)]
    assert Admission().sender(message(0, [ping()])._replace(key=b"h1")) == "h1"
    assert Admission().sender(signed([ping()])) == "h1", "without a ring a header proves nothing"


def test_a_forged_record_leaves_no_trace_in_panes() -> None:
    rows = [ping(s + 0.5, src=h) for s in range(12) for h in ("h1", "h2", "h3")]
    honest = [signed([row], row["src_node_sn"], offset=n) for n, row in enumerate(rows)]
    forged = signed([ping(0.5, src="h2", sent=100, lost=100)], "h3", offset=999)
    runs = []
    for messages in (honest, [m for each in honest for m in (forged, each)]):
        worker = PartitionWorker(0, 1, admission=admission())
        out = worker.step([m._replace(offset=n) for n, m in enumerate(messages)])
        out += worker.finish()
        runs.append([o.value for o in out if dict(o.headers).get("kind") == b"pane"])
    assert runs[0] == runs[1] != []
    assert batch(rows).num_rows == 36


def test_a_host_cannot_send_on_the_paths_of_another_in_its_own_name() -> None:
    """A path's identity is its container's and address: without a topology it proves no host."""
    own = {"src_node_id": "box-1", "src_ip": "172.16.0.1"}
    honest = [signed([ping(s + 0.5, "h1", "h4", **own)], "h1", offset=s) for s in range(40)]
    posing = [
        signed([ping(s + 0.6, "h2", "h4", sent=100, lost=100, dial="timeout", **own)], "h2")
        for s in range(2, 40)
    ]
    runs = []
    for messages in (honest, [*honest[:2], *(m for pair in zip(honest[2:], posing, strict=True)
                                             for m in pair)]):  # fmt: skip
        worker = PartitionWorker(0, 1, admission=admission())
        out = worker.step([m._replace(offset=n) for n, m in enumerate(messages)])
        out += worker.finish()
        runs.append([o.value for o in out if dict(o.headers).get("kind") == b"pane"])
    assert runs[0] == runs[1] != []
    assert worker.counts.dead_lettered == len(posing)


def test_a_container_that_moved_takes_its_paths_along_after_a_minute() -> None:
    own = {"src_node_id": "box-1", "src_ip": "172.16.0.1"}
    worker = PartitionWorker(0, 1, admission=admission())
    sent = [signed([ping(s, "h1", "h4", **own)], "h1") for s in range(10)]
    sent += [signed([ping(s, "h2", "h4", **own)], "h2") for s in range(10, 90)]
    worker.step([m._replace(offset=n) for n, m in enumerate(sent)])
    assert 50 <= worker.counts.dead_lettered <= 62
