"""Names in records are any text that a sender writes; none of them stops a replay."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from schemas.documents.heartbeat import Heartbeat
from schemas.documents.incident import Incident
from schemas.wire import codecs
from streams.replay import Replay

START_S = 1_780_000_000
TOGETHER_S = 15  # all hosts probe each other
LATER_S = 1500  # one of them goes on until then: more than 20 minutes
STEP_S = 130
COLUMNS = ("node_sn", "node_id", "real_ip", "asw", "dsw", "pod", "tenant_id", "idc")

TEXT = st.text(max_size=4) | st.sampled_from(
    ["", " ", "|", "a|b", ":", "%", "%7C", "%00", "\0", "link:a|b"]
)


def row(
    second: float, src: dict[str, str], dst: dict[str, str], hops: list[str | None], **other: Any
) -> dict[str, Any]:
    named = {
        f"{end}_{name}": text
        for end, who in (("src", src), ("dst", dst))
        for name, text in who.items()
    }
    return {
        "agent_type": "underlay", "task_type": "UDP_PING", "dial": "success", "latency": 15.0,
        "ping_time": int((START_S + second) * 1e9), "src_port": 50_000, "dst_port": 4791,
        "route": json.dumps(hops), **named, **other,
    }  # fmt: skip


def batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    names = dict.fromkeys(name for each in rows for name in each)
    columns = [pa.array([each.get(name) for each in rows]) for name in names]
    return codecs.conform(pa.RecordBatch.from_arrays(columns, list(names))).batch


def judged(
    hosts: list[dict[str, str]], hops: list[str | None], *, beating: bool = True
) -> tuple[Replay, list[Incident]]:
    """All hosts probe and beat; then all but two leave, and those go on."""
    offline = Replay()
    found: list[Incident] = []
    late = [s + more for s in range(TOGETHER_S, LATER_S, STEP_S) for more in range(3)]
    for second in (*range(TOGETHER_S), *late):
        here = hosts if second < TOGETHER_S else hosts[:2]
        rows = [
            row(second + 0.5, a, b, hops, agent_type=layer, task_type=task)
            for a in here
            for b in here
            if a is not b
            for layer in ("underlay", "overlay")
            for task in ("UDP_PING", "TRACEROUTE")
        ]
        if second >= TOGETHER_S - 5:
            for each in rows:
                if each["dst_ip"] == hosts[-1]["ip"]:
                    each.update(dial="timeout", latency=None)
        beats = [
            Heartbeat(each["node_sn"], int((START_S + second + 0.9) * 1e9), fabric=each["idc"])
            for each in here
            if each["node_sn"] and beating
        ]
        now_ns = (START_S + second + 1) * 10**9
        found += offline.feed(batch(rows), beats, now_ns).incidents
    return offline, found + offline.finish().incidents


HOSTS = st.lists(
    st.fixed_dictionaries({name: TEXT for name in COLUMNS if name != "idc"}), min_size=4, max_size=4
)


@settings(
    max_examples=8, deadline=None, suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # an example takes a second or two
)  # fmt: skip
@given(HOSTS, TEXT, st.lists(TEXT | st.none(), max_size=6))
def test_names_of_any_text_are_judged(
    hosts: list[dict[str, str]], fabric: str, hops: list[str | None]
) -> None:
    hosts = [{**each, "idc": fabric, "ip": f"10.0.0.{n}"} for n, each in enumerate(hosts)]
    offline, found = judged(hosts, hops)
    assert offline.counts.judged > 0
    assert {each.fabric for each in found} <= {fabric, fabric.strip(), "default"}


def plain(n: int, **other: str) -> dict[str, str]:
    return {"ip": f"10.0.0.{n}", "node_sn": f"h{n}", "asw": "a1", "idc": "f1", **other}


def test_hosts_without_a_pod_that_leave_are_forgotten() -> None:
    """Fifteen minutes after their last record; no id of an empty pod is made for them."""
    offline, _ = judged([plain(n) for n in range(6)], [], beating=False)
    assert offline.hosts == 2


def test_one_record_of_1970_does_not_stop_a_file() -> None:
    offline = Replay()
    first = row(0, plain(8), plain(9), [], ping_time=1_000_000_000)
    offline.feed(batch([first]), (), 2_000_000_000)
    for second in range(130):
        rows = [row(second, plain(a), plain(b), []) for a in range(4) for b in range(4) if a != b]
        offline.feed(batch(rows), (), (START_S + second + 1) * 10**9)
    offline.finish()
    assert offline.counts.judged >= 130 * 12
    assert offline.hosts == 4, "those of 1970 have left"
