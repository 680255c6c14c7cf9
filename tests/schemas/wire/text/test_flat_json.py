"""NDJSON that is read by compiled code: the same rows, rejects and errors as row by row."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from builders.schemas.compiled_helper import compiled, in_python
from builders.schemas.joined_records import same, values
from builders.schemas.record_formats import BARE, FULL, ndjson
from builders.streams.hostile_bytes import ODD_VALUES, documents, fuzzed, mutated
from hypothesis import example, given
from hypothesis import strategies as st

from schemas import topics
from schemas.limits import Limits
from schemas.wire import codecs
from schemas.wire.batches import decode_all
from schemas.wire.decoded import Decoded
from schemas.wire.text import flat_json


def full(number: int, **changes: Any) -> dict[str, Any]:
    return {**FULL, "src_port": number, "latency": number / 7, **changes}


def plain(*rows: dict[str, Any]) -> bytes:
    """Without spaces, and with UTF-8 in the place of escapes."""
    texts = [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows]
    return "".join(text + "\n" for text in texts).encode()


ROUTE = json.dumps(["10.0.0.1", None, 'say "tor"'])
#: Messages as producers write them, all flat.
FLAT = (
    ndjson(*(full(n) for n in range(9))),
    plain(*(full(n) for n in range(5))),
    plain(full(1, task_type="TRACEROUTE", route=ROUTE), full(2)),
    plain(full(1, latency=None), full(2, dst_zone_id=""), full(3, unknown=1.5, other=True)),
    plain(full(1, latency=17, p50_us=1e-7), full(2, latency=0.1234567890123456789)),
    plain(full(1, src_zone_id="a\\b/c\b\f\n\r\t\u00e9\u4e2d\U0001f600"), full(2)),
    plain(*(full(n, **({} if n % 3 else {"dst_idc": f"f{n}"})) for n in range(20))),
    plain({"unknown": "first", **FULL}).replace(b"\n", b" \r\n").replace(b',"', b'\t, "'),
)  # fmt: skip


def as_messages(raws: list[bytes]) -> list[tuple[bytes, str]]:
    return [(raw, topics.NDJSON) for raw in raws]


def records(decoded: Decoded) -> list[dict[str, Any]]:
    """Rows without nulls."""
    rows = decoded.batch.to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def is_read(raw: bytes) -> bool:
    """Whether compiled code reads it."""
    compiled()
    return any(bool(flat_json.read(raws).read.all()) for _, raws in flat_json.groups([(0, raw)]))


def test_messages_as_producers_write_them_are_read_by_compiled_code() -> None:
    assert [index for index, raw in enumerate(FLAT) if not is_read(raw)] == []
    joined = decode_all(as_messages(list(FLAT)))
    assert not joined.rejects
    assert not joined.errors
    same(joined, decode_all(as_messages(list(FLAT)), layouts=None))


def test_values_are_those_of_the_text() -> None:
    found = flat_json.read([FLAT[5], FLAT[4]])
    assert found.rows.tolist() == [2, 2]
    assert values(found.batch, "src_zone_id")[0] == "a\\b/c\b\f\n\r\t\u00e9\u4e2d\U0001f600"
    assert values(found.batch, "latency") == [1 / 7, 2 / 7, 17.0, 0.1234567890123456789]
    assert values(found.batch, "ping_time") == [FULL["ping_time"]] * 4
    for column in found.batch.columns:
        column.validate(full=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"route": ["10.0.0.1"]}, {"extra_stats": {"sent": 1}}, {"latency": "16.25"},
        {"src_port": 50_000.0}, {"src_port": "50000"}, {"src_port": 2**31}, {"src_idc": 7},
        {"ping_time": 2**63}, {"ping_time": 10**30}, {"latency": 2**53 + 1}, {"latency": True},
        {"src_port": True}, {"tenant_id": "t"}, {"src_zone_id": "\ud83d"}, {"unknown": [1]},
        {"unknown": 10**30},
    ],
)  # fmt: skip
def test_a_row_of_another_form_is_left_to_the_reader_of_rows(changes: dict[str, Any]) -> None:
    raw = ndjson(full(1), full(2, **changes), full(3))
    assert not is_read(raw)
    messages = as_messages([FLAT[0], raw, FLAT[1]])
    same(decode_all(messages), decode_all(messages, layouts=None))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"dscp":26', b'"dscp":26,"dscp":27'), (b"\n", b"\n\n"), (b"26", b"026"), (b"26", b"+26"),
        (b"26", b"-0"), (b"26", b"26."), (b"26", b"NaN"), (b"26", b"0x1A"), (b"16.25", b"1e999"),
        (b"host-1", b"host\x011"), (b"host-1", b"host\xff"), (b"host-1", b"\xed\xa0\x80"),
        (b"host-1", b"\xc0\xaf"), (b"host-1", b"\xf4\x90\x80\x80"), (b"host-1", b"\\x"),
        (b"host-1", b"\\u12"), (b"}\n", b"}x\n"), (b"}\n", b"}{}\n"), (b"}\n", b",}\n"),
        (b"}\n", b"\n"), (b"{", b"{,"), (b"{", b""), (b'"dscp":', b'"dscp"'),
        (b"{", b"\xef\xbb\xbf{"),
        (b'"dscp"', b'"d\\u0073cp"'), (b"26", b""), (b"}", b"}" + b" " * 5000),
        (b"host-1", b"[" * 300),
    ],
)  # fmt: skip
def test_a_line_of_another_form_is_left_to_the_reader_of_rows(old: bytes, new: bytes) -> None:
    raw = plain({**FULL, "latency": 16.25}, FULL)
    assert is_read(raw)
    changed = raw.replace(old, new, 1)
    assert changed != raw
    assert not is_read(changed)
    messages = as_messages([changed, FLAT[0]])
    same(decode_all(messages), decode_all(messages, layouts=None))


def test_a_bad_record_is_reported_with_its_line_and_costs_no_other_message() -> None:
    raw = plain(full(1), full(2, dial="?"), full(3))
    assert is_read(raw)
    joined = decode_all(as_messages([FLAT[1], raw, FLAT[1]]))
    (found,) = joined.rejects
    assert (found[0], found[1].row, found[1].column) == (1, 1, "dial")
    assert found[1].raw == raw.splitlines()[1]
    assert joined.message.tolist() == [0] * 5 + [1] * 2 + [2] * 5
    assert joined.row.tolist() == [0, 1, 2, 3, 4, 0, 2, 0, 1, 2, 3, 4]


def test_one_message_is_read_in_the_same_way() -> None:
    for raw in (*FLAT, plain(full(1), full(2, dial="?"), full(3)), b'{"src_ip":'):
        with in_python():
            expected = codecs.decode(raw, topics.NDJSON)
        found = codecs.decode(raw, topics.NDJSON)
        assert found.rejects == expected.rejects
        assert records(found) == records(expected)


def test_a_message_of_another_form_leaves_nothing_in_the_columns_of_the_others() -> None:
    broken = plain(full(1, dst_pod="ghost"), full(2)) + b'{"src_ip":'
    found = flat_json.read([FLAT[1], broken, FLAT[2]])
    assert found.read.tolist() == [True, False, True]
    assert found.rows.tolist() == [5, 2]
    assert values(found.batch, "dst_pod") == [None] * 7
    assert values(found.batch, "src_port") == [0, 1, 2, 3, 4, 1, 2]


def test_messages_over_a_limit_are_left_to_the_reader_of_rows() -> None:
    many = plain(*[BARE] * 3)
    assert is_read(many)
    assert not is_read(b'{"src_port":1}\n' * 100)  # columns would take far more than the message
    over = (
        Limits(rows=2), Limits(message_bytes=len(many) - 1), Limits(line_bytes=100),
        Limits(brackets=0),
    )  # fmt: skip
    for limits in over:
        read = [flat_json.read(raws, limits).read.any() for _, raws in
                flat_json.groups([(0, many)], limits)]  # fmt: skip
        assert not any(read)
        messages = as_messages([many])
        same(decode_all(messages, limits), decode_all(messages, limits, layouts=None))


def test_groups_have_few_bytes_and_every_message_in_order() -> None:
    raw = plain(*(full(n) for n in range(2000)))
    found = list(flat_json.groups([(n, raw) for n in range(30)]))
    assert [index for indices, _ in found for index in indices] == list(range(30))
    assert max(sum(map(len, raws)) for _, raws in found) <= 8 * 1024 * 1024
    with in_python():
        assert not list(flat_json.groups([(0, raw)]))


ROWS = [raw for message in FLAT for raw in message.splitlines()]


@st.composite
def odd(draw: st.DrawFn) -> bytes:
    """A message with some odd value."""
    lines = draw(st.lists(st.sampled_from(ROWS), min_size=1, max_size=5))
    lines.insert(draw(st.integers(0, len(lines))), draw(documents(plain(FULL))))
    return b"\n".join(lines)


@fuzzed(200)
@given(st.lists(st.sampled_from(FLAT) | mutated(*FLAT) | odd(), min_size=1, max_size=6))
@example([plain(FULL).replace(b"26", value) for value in ODD_VALUES])
@example([b"", plain(full(1, dst_pod=""))])
def test_messages_read_together_are_what_they_are_row_by_row(raws: list[bytes]) -> None:
    messages = as_messages(raws)
    expected = decode_all(messages, layouts=None)
    found = decode_all(messages)
    same(found, expected)
    for column in found.batch.columns:
        column.validate(full=True)
    with in_python():
        same(decode_all(messages), expected)


@fuzzed(100)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_are_rounded_once(numbers: list[float]) -> None:
    raw = plain(*(full(1, latency=each) for each in numbers))
    found = flat_json.read([raw])
    np.testing.assert_array_equal(values(found.batch, "latency"), numbers)


def test_arguments_that_are_none_are_refused() -> None:
    helper, most = compiled(), (10, 10, 10, 10)
    for arguments in (
        ([b""], (), "", most), ([b""], (b"a",), "", most), ([b""], (b"a",), "z", most),
        ([b""], (b"a",) * 65, "s" * 65, most), ([b""], ("a",), "s", most),
        (["x"], (b"a",), "s", most), ([b""], (b"a",), "s", most[:3]),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            helper.flat_json(*arguments)
