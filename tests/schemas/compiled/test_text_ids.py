"""Numbers of texts in the compiled helper: folded into ids; unknown texts and misuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from builders.schemas.compiled_helper import compiled

TEXTS = ["a", "", "é", "a", None, "a text of more than sixteen bytes"]


def column(texts: list[str | None]) -> tuple[Any, Any, Any, int]:
    valid, offsets, data = pa.array(texts, pa.string()).buffers()
    return valid, offsets, data, 0


def test_unknown_texts_are_returned_and_known_ones_folded() -> None:
    ids, out = compiled().TextIds(), np.zeros(len(TEXTS), np.uint64)
    fields = [[column(TEXTS), b"instead"]]
    unknown = [b"a", b"instead", "é".encode(), b"a", b"instead", TEXTS[-1].encode()]  # type: ignore[union-attr]
    assert ids.fold(out, fields) == unknown
    for number, text in enumerate(dict.fromkeys(unknown)):
        ids.add(text, number + 1)
        ids.add(text, 99)  # the first number stays
    first = np.zeros(len(TEXTS), np.uint64)
    assert ids.fold(first, fields) == []
    assert [first.tolist().index(id_) for id_ in first.tolist()] == [0, 1, 2, 0, 1, 5]
    assert ids.usage() == (4, sum(map(len, dict.fromkeys(unknown))))
    ids.clear()
    assert ids.usage() == (0, 0)
    assert ids.fold(out, fields) == unknown


def test_many_texts_are_told_apart() -> None:
    ids = compiled().TextIds()
    texts = [f"{n}-" * (1 + n % 5) for n in range(20_000)]
    for number, text in enumerate(texts):
        ids.add(text.encode(), number)
    out = np.zeros(len(texts), np.uint64)
    assert len(ids.fold(out, [[column([*texts])]])) < 10, "few may have too many alike beside them"
    assert len(np.unique(out)) > len(texts) - 10


@pytest.mark.parametrize(
    "fields",
    [
        [column(TEXTS)],
        [[column(TEXTS)[:3]]],
        [[(None, b"123", b"", 0)]],
        [[(None, np.zeros(6, np.int32), b"", 0)]],
        [[(None, np.zeros(9, np.int32), b"", 3)]],
        [[(None, np.zeros(9, np.int32), b"", -1)]],
        [[(b"", np.zeros(9, np.int32), b"", 0)]],
        [[(None, np.arange(7, dtype=np.int32), b"123", 0)]],
        [[(None, -np.arange(7, dtype=np.int32), b"123", 0)]],
        [[(None, np.arange(7, dtype=np.int32)[::-1].copy(), b"1234567", 0)]],
        [[b""] * 5],
        [["text"]],
    ],
)
def test_misuse_is_an_exception(fields: Any) -> None:
    ids, out = compiled().TextIds(), np.zeros(6, np.uint64)
    with pytest.raises((TypeError, ValueError)):
        ids.fold(out, fields)
    with pytest.raises((TypeError, ValueError, BufferError)):
        ids.fold(b"12345678", [[b"a"]])
