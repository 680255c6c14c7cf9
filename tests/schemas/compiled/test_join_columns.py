"""The compiled join of messages: numbers that are not those of the messages do no harm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders.schemas.compiled_helper import compiled
from hypothesis import given, settings
from hypothesis import strategies as st

RAW = bytes(range(64))
numbers = st.integers(-2, 70) | st.integers(-(2**63), 2**63 - 1)


def array(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_numbers_bits_and_texts_of_two_messages_are_one_column_each() -> None:
    raws = [
        b"\x05" + bytes(7) + np.arange(3).tobytes(),
        b"\x01" + bytes(7) + np.arange(2).tobytes(),
    ]
    starts, lengths = array(0, 8, 0, 8), array(1, 24, 1, 16)
    (found,) = compiled().join_columns(
        raws, array(3, 2), array(1, 1), starts, lengths, array(0, 0, 8)
    )
    assert found == (b"\x0d", None, array(0, 1, 2, 0, 1).tobytes(), True)
    text = np.array([0, 1, 3], np.int32).tobytes() + "aé".encode()
    (found,) = compiled().join_columns(
        [text, text], array(2, 2), array(0, 0), array(0, 0, 12, 0, 0, 12),
        array(0, 12, 3, 0, 12, 3), array(0, 0, 0),
    )  # fmt: skip
    offsets = np.array([0, 1, 3, 4, 6], np.int32).tobytes()
    assert found == (None, offsets, "aéaé".encode(), False)


@given(
    st.lists(st.integers(0, 9) | numbers, min_size=2, max_size=2),
    st.lists(numbers, min_size=2, max_size=2), st.lists(numbers, min_size=6, max_size=6),
    st.lists(numbers, min_size=6, max_size=6), st.sampled_from([0, 1, 4, 8]),
)  # fmt: skip
@settings(deadline=None)
def test_any_numbers_give_columns_or_none_or_an_exception(
    rows: list[int], nulls: list[int], starts: list[int], lengths: list[int], width: int
) -> None:
    helper = compiled()
    try:
        found = helper.join_columns(
            [RAW, RAW], *map(np.array, (rows, nulls, starts, lengths)), array(0, 0, width)
        )
    except ValueError:
        return
    assert found is None or (len(found) == 1 and len(found[0]) == 4)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([], array(), array(), array(), array(), array()), ValueError),
        ((["raw"], array(1), array(0), array(0, 0), array(1, 1), array(0, 0, 1)), TypeError),
        (([RAW], array(1, 1), array(0), array(0, 0), array(1, 1), array(0, 0, 1)), ValueError),
        (([RAW], array(-1), array(0), array(0, 0), array(1, 1), array(0, 0, 1)), ValueError),
        (([RAW], array(1), array(0), array(0, 0), array(1), array(0, 0, 1)), ValueError),
        (([RAW], array(1), array(0), array(0, 0), array(1, 1), array(0, 0)), ValueError),
        (([RAW], array(1), array(0), array(0, 0), array(1, 1), array(1, 0, 1)), IndexError),
        (([RAW], array(1), array(0), array(0, 0), array(1, 1), array(0, 1, 1)), IndexError),
        (([RAW], array(1), array(0), array(0, 0), array(1, 1), array(0, 0, 0)), IndexError),
        (([RAW], array(1), array(0), array(0, 0), array(1, 1), array(0, 0, 9)), IndexError),
    ],
)
def test_misuse_is_an_exception(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        compiled().join_columns(*arguments)
