"""Texts of a column as codes: by the helper as by Arrow, for every part of a column."""

from __future__ import annotations

import pyarrow as pa
import pytest
from builders.schemas.compiled_helper import compiled, in_python
from hypothesis import given
from hypothesis import strategies as st

from schemas.wire.text_codes import text_codes

#: Of all lengths around those that the helper compares at once, alike at either end.
TEXTS = [None, "", "a", "aé", "abcd", "abcdefg", "abcdefgh", "xbcdefgh", "abcdefghi", "xbcdefghi",
         "host-00000000017", "host-10000000017", "a text of more than sixteen bytes"]  # fmt: skip


def column(texts: list[str | None]) -> pa.StringArray:
    return pa.array(texts, pa.string())


def test_codes_count_from_0_in_the_order_in_which_texts_come() -> None:
    codes, texts = text_codes(column(["b", "b", None, "a", "", "b"]))
    assert codes.tolist() == [0, 0, 1, 2, 1, 0]
    assert texts.to_pylist() == ["b", "", "a"]


@given(st.lists(st.sampled_from(TEXTS), max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_the_helper_gives_what_arrow_does(texts: list[str | None], first: int, rows: int) -> None:
    compiled()
    part = column(texts).slice(first, rows)
    codes, named = text_codes(part)
    with in_python():
        expected, expected_named = text_codes(part)
    assert codes.tolist() == expected.tolist()
    assert named.equals(expected_named)
    assert named.take(pa.array(codes)).equals(part.fill_null(""))


def test_many_texts_are_told_apart() -> None:
    compiled()
    every = column([f"{n}-" * (1 + n % 5) for n in range(20_000)])
    codes, texts = text_codes(pa.concat_arrays([every, every]))
    assert codes.tolist() == 2 * [*range(20_000)]
    assert texts.equals(every)


@pytest.mark.parametrize(
    ("offsets", "firsts"), [([0, 9], 1), ([0, -1], 1), ([1, 0], 1), ([0, 1], 2)]
)
def test_what_lies_outside_of_the_texts_is_refused(offsets: list[int], firsts: int) -> None:
    described = (None, pa.array(offsets, pa.int32()).buffers()[1], b"abc", 0)
    with pytest.raises(ValueError, match=r"outside of the texts|values"):
        compiled().code_texts(described, bytearray(4), bytearray(4 * firsts))
