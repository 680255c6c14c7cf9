"""Whether two ways to read messages give the same records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from schemas.wire.batches import Joined


def same(one: Joined, other: Joined) -> None:
    """Assert that both have the same rows, rejects and errors."""
    assert [(i, str(why)) for i, why in one.errors] == [(i, str(why)) for i, why in other.errors]
    assert one.rejects == other.rejects
    assert one.message.tolist() == other.message.tolist()
    assert one.row.tolist() == other.row.tolist()
    names = {*one.batch.schema.names, *other.batch.schema.names}
    for name in names:
        np.testing.assert_equal(values(one.batch, name), values(other.batch, name), name)


def values(batch: pa.RecordBatch, name: str) -> list[Any]:
    """(rows,) a column; all null where the batch has none."""
    at = batch.schema.get_field_index(name)
    return [None] * batch.num_rows if at < 0 else batch.column(at).to_pylist()
