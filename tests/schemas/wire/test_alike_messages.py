"""Arrow messages that are read together: the same rows, rejects and errors as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from builders.schemas.compiled_helper import in_python
from builders.schemas.joined_records import same, values
from builders.schemas.record_formats import BARE, FULL, arrow, ndjson, table
from builders.streams.hostile_bytes import fuzzed, mutated
from hypothesis import given
from hypothesis import strategies as st

from probers.publishing.encoding.encode import to_arrow
from schemas import topics
from schemas.wire import codecs
from schemas.wire.arrow.columns import Plans
from schemas.wire.arrow.layout import layout_of
from schemas.wire.arrow.layouts import Layouts
from schemas.wire.batches import decode_all
from schemas.wire.ping_columns import KNOWN


def full(number: int, **changes: Any) -> dict[str, Any]:
    return {**FULL, "src_port": number, "dst_node_id": f"box-{number}" * (number % 3), **changes}


def big_endian(raw: bytes) -> bytes:
    """The message under a schema that says that its values are big-endian."""
    changed = bytearray(raw)
    message = 8 + int.from_bytes(raw[8:12], "little")
    vtable = message - int.from_bytes(raw[message : message + 4], "little", signed=True)
    header = message + int.from_bytes(raw[vtable + 8 : vtable + 10], "little")
    schema = header + int.from_bytes(raw[header : header + 4], "little")
    vtable = schema - int.from_bytes(raw[schema : schema + 4], "little", signed=True)
    one = next(at for at in range(schema, len(raw)) if raw[at : at + 2] == b"\x01\x00")
    changed[vtable + 4 : vtable + 6] = (one - schema).to_bytes(2, "little")  # field 0: endianness
    return bytes(changed)


PODS = pa.array(["p"]).dictionary_encode()

#: Messages as agents and others write them: with and without nulls, of several schemas.
MESSAGES = (
    *(arrow(*(full(n + k) for k in range(8))) for n in range(4)),
    *(arrow(*(full(n + k, dst_zone_id="z") for k in range(3 + n))) for n in range(4)),
    *(arrow(*(full(n + k, latency=None if k % 2 else 3.5) for k in range(8))) for n in range(3)),
    to_arrow([full(n) for n in range(5)]),
    to_arrow([full(n, dst_port=None) for n in range(5)]),
    to_arrow([{**BARE, "ping_time": -1}, BARE]),
    arrow(BARE), arrow(BARE, {**BARE, "dial": "?"}), arrow({"src_ip": "10.0.0.1"}),
    codecs.encode_arrow(table([BARE]).slice(0, 0)),
    codecs.encode_arrow(table([BARE]).append_column("dst_pod", PODS)),
    codecs.encode_arrow(table([BARE]).append_column("unknown", pa.array([[1, 2]]))),
    codecs.encode_arrow(table([full(n) for n in range(20)]).slice(9, 7)),
)  # fmt: skip


@fuzzed(120)
@given(st.lists(st.sampled_from(MESSAGES) | mutated(*MESSAGES), min_size=1, max_size=12))
def test_messages_read_together_are_what_they_are_one_by_one(raws: list[bytes]) -> None:
    messages = [(raw, topics.ARROW) for raw in raws]
    layouts = Layouts(Plans(KNOWN))
    expected = decode_all(messages, layouts=None)
    same(decode_all(messages, layouts=layouts), expected)
    same(decode_all(messages, layouts=layouts), expected)  # with the layouts that it learnt
    for array in decode_all(messages, layouts=layouts).batch.columns:
        array.validate(full=True)
    with in_python():
        same(decode_all(messages, layouts=layouts), expected)


def test_messages_of_an_agent_have_a_layout() -> None:
    for raw in (arrow(full(1)), to_arrow([full(1), full(2)])):
        assert layout_of(raw, Plans(KNOWN)) is not None


def test_a_corrupt_first_message_does_not_keep_the_others_from_being_read_together() -> None:
    layouts, good = Layouts(Plans(KNOWN)), arrow(full(1), full(2))
    layout = layout_of(good, Plans(KNOWN))
    assert layout is not None
    bad = bytearray(good)
    bad[len(layout.schema) + 8] ^= 0xFF  # the reference to its first table
    messages = [(index, raw) for index, raw in enumerate([bytes(bad), good, good])]
    assert layouts.groups([(0, bytes(bad))]) == []
    assert [group.indices for group in layouts.groups(messages)] == [[1, 2]]


def test_a_message_that_ends_in_its_schema_does_not_take_the_others_along() -> None:
    whole = arrow(*map(full, range(3)))
    raws = [whole[:40], whole, whole[:40], whole]
    found = decode_all([(raw, topics.ARROW) for raw in raws])
    assert found.message.tolist() == [1] * 3 + [3] * 3
    assert [index for index, _ in found.errors] == [0, 2]


def test_rows_stay_in_the_order_of_the_messages_when_schemas_alternate() -> None:
    kinds = [
        (arrow(full(1)), topics.ARROW),
        (arrow(BARE), topics.ARROW),
        (ndjson(BARE), topics.NDJSON),
    ]
    joined = decode_all(kinds * 3)
    assert joined.message.tolist() == [*range(9)]
    assert values(joined.batch, "src_port") == [1, None, None] * 3


def test_a_message_of_big_endian_values_is_read_by_itself() -> None:
    messages = [(raw, topics.ARROW) for raw in (arrow(FULL), big_endian(arrow(FULL)), arrow(FULL))]
    joined = decode_all(messages)
    same(joined, decode_all(messages, layouts=None))
    assert 1 not in joined.message.tolist(), "its send time, read the other way, is no time"


@pytest.mark.parametrize(
    "value", [np.array([0, 6, 12], "<i4").tobytes()[4:], b"underlay"], ids=["offset", "text"]
)
def test_a_corrupt_value_costs_its_message_only(value: bytes) -> None:
    raw = bytearray(arrow(full(1), full(2)))
    raw[raw.index(value)] = 0xFF
    messages = [(arrow(full(1), full(2)), topics.ARROW)] * 3
    messages[1] = bytes(raw), topics.ARROW
    joined = decode_all(messages)
    same(joined, decode_all(messages, layouts=None))
    assert [index for index, _ in joined.errors] == [1]
    assert joined.message.tolist() == [0, 0, 2, 2]
