"""The compiled helper's record batches: byte for byte those of Python; misuse is an exception."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probers.net.five_tuple import Value
from probers.publishing.encoding import encode
from schemas.compiled import native
from schemas.documents.ping import Column

Row = dict[str, Value]
COLUMNS = [
    Column("name", "string", ""),
    Column("share", "float64", ""),
    Column("time", "int64", ""),
    Column("port", "int32", ""),
    Column("route", "string", ""),
]
to_arrow = encode.ArrowEncoder(COLUMNS)
rows = st.fixed_dictionaries(
    {},
    optional={
        "name": st.none() | st.text(st.characters(blacklist_categories=["Cs"]), max_size=9),
        "share": st.none() | st.floats() | st.integers(-(2**70), 2**70),
        "time": st.none() | st.integers(-(2**63), 2**63 - 1) | st.booleans(),
        "port": st.none() | st.integers(-(2**31), 2**31 - 1),
        "route": st.none() | st.just("x" * 500),
        "of no column": st.integers(),
    },
)
MODULE = native.module


@pytest.fixture(autouse=True)
def _built() -> None:
    if missing := native.why_not():
        pytest.skip(f"the compiled helper (scripts/native.sh): {missing}")


def in_python(records: list[Row], common: list[Row]) -> bytes:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(native.VARIABLE, "off")
        return to_arrow(records, common)


@given(st.lists(st.tuples(rows, rows), max_size=20), st.booleans())
def test_a_message_is_that_of_python_byte_for_byte(
    pairs: list[tuple[Row, Row]], shared: bool
) -> None:
    records = [own for own, _ in pairs]
    common = [other for _, other in pairs] if shared else []
    assert to_arrow(records, common) == in_python(records, common)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 512])
@pytest.mark.parametrize("every", [1, 3])
def test_nulls_at_every_length_are_those_of_python(count: int, every: int) -> None:
    records: list[Row] = [
        {"name": None if number % every else f"é{number}", "time": number, "port": None}
        for number in range(count)
    ]
    assert to_arrow(records) == in_python(records, [])


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"name": 1}, TypeError),
        ({"name": b"x"}, TypeError),
        ({"name": "\ud800"}, UnicodeEncodeError),
        ({"share": "1"}, TypeError),
        ({"share": 10**400}, OverflowError),
        ({"time": 1.0}, TypeError),
        ({"time": 2**63}, OverflowError),
        ({"port": 2**31}, OverflowError),
        ({"port": -(2**31) - 1}, OverflowError),
    ],
)
def test_a_value_that_its_column_cannot_hold_is_refused_as_in_python(
    row: dict[str, Any], error: type[Exception]
) -> None:
    for make_message in (to_arrow, in_python):
        with pytest.raises(error):
            make_message([row], [])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (({"a": 1}, "s", [{"a": "x"}], []), IndexError),
        (({"a": -1}, "s", [{"a": "x"}], []), IndexError),
        (({"a": 2**80}, "s", [{"a": "x"}], []), OverflowError),
        (({"a": "0"}, "s", [{"a": "x"}], []), TypeError),
        (({"a": 0}, "x", [{"a": "x"}], []), ValueError),
        (({"a": 0}, "s\0", [{"a": "x"}], []), ValueError),
        (({"a": 0}, "s" * 256, [{"a": "x"}], []), ValueError),
        (({"a": 0}, "s", [{"a": "x"}], [{}, {}]), ValueError),
        (({"a": 0}, "s", [["a"]], []), TypeError),
        (({"a": 0}, "s", [{1: "x"}], []), TypeError),
        (({"a": 0}, "s", ({"a": "x"},), []), TypeError),
    ],
)
def test_misuse_is_an_exception(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    assert MODULE is not None
    with pytest.raises(error):
        MODULE.arrow_batch(*arguments)


def test_a_helper_of_another_release_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "skeletonhunter_native.py").write_text(f"INTERFACE = {native.INTERFACE - 1}\n")
    script = (
        "from schemas.compiled import native\n"
        "from probers.process.poller import PythonPoller, make\n"
        "from probers.publishing.encoding.encode import to_arrow\n"
        "assert isinstance(make(), PythonPoller)\n"
        "assert to_arrow([{'dial': 'success'}])\n"
        "print(native.why_not())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    expected = f"its interface is {native.INTERFACE - 1}, this release needs {native.INTERFACE}"
    assert done.stdout.strip() == expected
