"""What anybody may produce: bytes, headers and documents that are nearly right, or not at all.

``SKH_FUZZ=20`` lets the properties that use this run twenty times as many examples.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from schemas import topics

FACTOR: Final = int(os.environ.get("SKH_FUZZ", "1"))


def fuzzed(examples: int) -> Any:
    """Settings of a property with so many examples, or SKH_FUZZ times as many."""
    return settings(
        deadline=None,
        max_examples=examples * FACTOR,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large,
                               HealthCheck.function_scoped_fixture],
    )  # fmt: skip


#: Values in JSON text: also such as no Python value writes.
ODD_VALUES: Final = (
    b"null", b"true", b"0", b"-1", b"1e308", b"1e999", b"-0.0", b"NaN", b"9223372036854775808",
    b"1" + b"0" * 30, b"1" + b"0" * 5000, b'""', b'"x"', b'"\\ud800"', b'"\xff"', b'"\\u0000"',
    b'"0001-01-01T00:00:00+23:59"', b'"9999-12-31T23:59:59Z"', b'"2026-01-01T00:00:00"', b"[]",
    b"{}", b"[[1]]", b'{"a":{"b":[null]}}', b"[" * 3000 + b"]" * 3000,
    b'"' + b"y" * 70_000 + b'"', b"[" + b"1," * 5000 + b"1]",
)  # fmt: skip
CONTENT_TYPES: Final = (
    topics.ARROW, topics.NDJSON, topics.JSON, topics.CSV, "", "?", "TEXT/CSV; charset=x",
    "x" * 5000, topics.ARROW + "; v=1", "\0", "☃",
)  # fmt: skip


def documents(good: bytes) -> st.SearchStrategy[bytes]:
    """A JSON document with odd values in some of its fields, without some, or with others."""
    fields = {name: json.dumps(value).encode() for name, value in json.loads(good).items()}
    odd = st.dictionaries(
        st.sampled_from([*fields, "", "unknown"]), st.sampled_from(ODD_VALUES) | st.none(),
        min_size=1, max_size=3,
    )  # fmt: skip

    def written(changes: dict[str, bytes | None]) -> bytes:
        values = {k: v for k, v in (fields | changes).items() if v is not None}
        return b"{" + b",".join(b'"%s":%s' % (k.encode(), v) for k, v in values.items()) + b"}"

    return odd.map(written)


def mutated(*good: bytes) -> st.SearchStrategy[bytes]:
    """Valid messages with wrong bytes, without a part, twice, or crossed with one another."""

    @st.composite
    def one(draw: st.DrawFn) -> bytes:
        raw = bytearray(draw(st.sampled_from(good)))
        for _ in range(draw(st.integers(1, 4))):
            at = draw(st.integers(0, len(raw)))
            length = draw(st.sampled_from([1, 2, 4, 8, 64, 10**6]))
            how = draw(st.sampled_from(["set", "cut", "again", "cross", "big"]))
            if how == "set":
                raw[at : at + 1] = draw(st.binary(min_size=1, max_size=8))
            elif how == "cut":
                del raw[at : at + length]
            elif how == "again":
                raw[at:at] = raw[at : at + length]
            elif how == "cross":
                raw[at:] = draw(st.sampled_from(good))[at:]
            else:
                big = draw(st.sampled_from([2**31 - 1, 2**31, 2**32 - 1, 2**20, 0]))
                raw[at // 4 * 4 : at // 4 * 4 + 4] = big.to_bytes(4, "little")
        return bytes(raw[: 4 * 1024 * 1024])

    return one()


def anything(*good: bytes) -> st.SearchStrategy[bytes]:
    """Bytes of a message: none, random, or near to a good one."""
    near = [mutated(*good)] if good else []
    objects = [each for each in good if each[:1] == b"{" and b"\n" not in each]
    return st.one_of(st.binary(max_size=100), *near, *map(documents, objects))


#: Values of Kafka headers; None is a null.
header_values: Final = st.one_of(
    st.none(), st.binary(max_size=20), st.integers(-(10**40), 10**40).map(lambda n: b"%d" % n),
    st.sampled_from([b"", b"\xff\xfe", b"x" * 400_000, b"9" * 5000, b"1_0", b" 7 ", b"1e9"]),
)  # fmt: skip
