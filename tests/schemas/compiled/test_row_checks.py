"""Rules checked by the compiled helper: the same rows are good and bad as in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from builders.schemas.compiled_helper import compiled, in_python
from builders.schemas.record_formats import BARE, FULL, table
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import identity
from schemas.documents import ping
from schemas.wire import codecs, record_checks
from schemas.wire.ping_columns import TYPES

#: Values at the edges of their rules, and beyond.
VALUES: dict[str, list[Any]] = {
    "dial": ["success", "timeout", "SUCCESS", "maybe", "", None, "error"],
    "task_type": ["UDP_PING", "rdma_ping", "TRACEROUTE", "?", "", None],
    "agent_type": ["underlay", "Overlay", None, ""],
    "src_ip": ["a", "", None, "x" * 4096, "x" * 4097],
    "src_zone_id": ["", None, "é" * 2048, "é" * 2049],
    "route": [None, "", '["a", null]', "{", "x" * 65_537],
    "extra_stats": [None, "", '{"sent": 2, "lost": 3}', "5"],
    "ping_time": [1, 0, -1, 2**63 - 1, None],
    "src_port": [0, 65_535, 65_536, -1, None],
    "dscp": [0, 63, 64, None],
    "loss_rate": [0.0, 1.0, 1.1, -0.1, float("nan"), None],
    "latency": [0.0, 3.6e9, 3.7e9, float("inf"), float("nan"), None],
    "sent": [0, 1, 1_000_000, 1_000_001, None],
    "lost": [0, 1, 2, -1, None],
}
rows = st.lists(
    st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in VALUES.items()}),
    min_size=1,
    max_size=12,
)


def typed(changes: list[dict[str, Any]]) -> pa.RecordBatch:
    """Records of which some values are others, in the record's types."""
    names = dict.fromkeys(name for each in (FULL, *changes) for name in each)
    arrays = [
        pa.array([{**FULL, **each}.get(name) for each in changes], TYPES.get(name, pa.string()))
        for name in names
    ]
    return pa.RecordBatch.from_arrays(arrays, list(names))


@given(rows, st.integers(0, 3))
@settings(deadline=None, max_examples=150)
def test_the_helper_accepts_and_rejects_what_python_does(
    changes: list[dict[str, Any]], first: int
) -> None:
    compiled()
    batch = typed(changes).slice(min(first, len(changes) - 1))
    found = codecs.conform(batch)
    with in_python():
        expected = codecs.conform(batch)
    assert found.rejects == expected.rejects
    assert found.batch.schema.names == expected.batch.schema.names
    for name in found.batch.schema.names:
        one, other = found.batch.column(name).to_pylist(), expected.batch.column(name).to_pylist()
        np.testing.assert_equal(one, other, name)


def test_bytes_behind_a_column_do_not_matter() -> None:
    batch = codecs.conform(table([FULL, BARE])).batch
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        longer = [b and pa.py_buffer(b.to_pybytes() + b"\xff" * 3) for b in column.buffers()]
        columns[name] = pa.Array.from_buffers(column.type, 2, longer)
    compiled()
    assert record_checks.are_valid(columns)
    padded = pa.RecordBatch.from_arrays([*columns.values()], [*columns])
    assert identity.path_ids(padded).tolist() == identity.path_ids(batch).tolist()


def test_records_of_agents_are_valid() -> None:
    compiled()
    batch = codecs.conform(table([FULL, BARE, {**FULL, "dial": "timeout", "latency": None}])).batch
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    assert record_checks.are_valid(columns)
    with in_python():
        assert not record_checks.are_valid(columns)
    assert ping.REQUIRED[0] in columns


@pytest.mark.parametrize(
    ("rows", "texts", "numbers"),
    [
        (-1, [], []),
        (1, [()], []),
        (1, ["text"], []),
        (1, [(None, np.zeros(1, np.int32), b"", 0, True, 9, None)], []),
        (1, [(None, np.zeros(2, np.int32), b"", -1, True, 9, None)], []),
        (1, [(b"", np.zeros(2, np.int32), b"", 0, True, 9, None)], []),
        (1, [(None, np.zeros(2, np.int32), b"", 0, True, 9, ("text",))], []),
        (1, [(None, np.zeros(2, np.int32), b"", 0, True, 9, (b"",) * 33)], []),
        (2, [], [(None, np.zeros(1), 0, True, "d", 0, 1)]),
        (1, [], [(None, np.zeros(1), 0, True, "s", 0, 1)]),
        (1, [], [(b"", np.zeros(1), 0, True, "d", 0, 1)]),
        (1, [], [None]),
    ],
)
def test_misuse_is_an_exception(rows: int, texts: list[Any], numbers: list[Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        compiled().rows_are_valid(rows, texts, numbers)


def test_offsets_outside_of_the_texts_are_not_valid() -> None:
    for offsets in ([0, 9], [-1, 1], [3, 1]):
        column = (None, np.array(offsets, np.int32), b"text", 0, False, 9, None)
        assert compiled().rows_are_valid(1, [column], []) is False
