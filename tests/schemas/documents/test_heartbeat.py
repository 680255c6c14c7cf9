"""Heartbeats: read as written, and refused with the field's name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat, RnicCounts


@given(
    st.builds(
        Heartbeat,
        node_sn=st.text(st.characters(codec="utf-8"), min_size=1),
        time=st.integers(1, 2**63 - 1),
        alive=st.booleans(),
        fabric=st.text(st.characters(codec="utf-8")),
        cpu_steal=st.floats(0, 1),
        scheduling_delay_us=st.floats(0, 1e9),
        rnics=st.dictionaries(st.text(), st.builds(RnicCounts, st.integers(0, 99))),
    )
)
@settings(deadline=None, max_examples=60)
def test_any_heartbeat_is_read_as_it_was_written(beat: Heartbeat) -> None:
    assert heartbeat.decode(heartbeat.encode(beat)) == beat


def test_a_healthy_heartbeat_is_short() -> None:
    assert json.loads(heartbeat.encode(Heartbeat("h1", 5))) == {"node_sn": "h1", "time": 5}


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b'{"node_sn":"h1"}', "time"),
        (b'{"node_sn":"","time":5}', "node_sn is empty"),
        (b'{"node_sn":"h1","time":0}', "time 0 is not after 1970"),
        (b'{"node_sn":"h1","time":"noon"}', r"\$.time"),
        (b'{"node_sn":"h1","time":5,"cpu_steal":"much"}', r"\$.cpu_steal"),
    ],
)
def test_a_bad_heartbeat_names_the_field(raw: bytes, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        heartbeat.decode(raw)


@pytest.mark.parametrize(
    "change",
    [
        b'"time":9223372036854775808', b'"time":-1', b'"time":0', b'"time":1e300',
        b'"time":1,"cpu_steal":1e999', b'"time":1,"cpu_steal":-0.5', b'"time":1,"cpu_steal":2',
        b'"time":1,"scheduling_delay_us":1e300', b'"time":1,"scheduling_delay_us":-1',
        b'"time":1,"fabric":"' + b"f" * 5000 + b'"', b'"time":1,"fabric":"\\ud800"',
        b'"time":1,"x":' + b"[" * 10_000, b'"time":1,"version":"' + b"v" * 100_000 + b'"',
    ],
)  # fmt: skip
def test_a_heartbeat_with_an_impossible_value_is_refused(change: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        heartbeat.decode(b'{"node_sn":"h1",' + change + b"}")
