"""Validated records -> probes, times and routes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from builders.streams.ping_records import START_S, batch, ping

from streams.admission.senders import Sources
from streams.windowing import records
from streams.windowing.panes import NO_RTT
from streams.windowing.path_table import PathTable


def taken_apart(*rows: dict[str, Any]) -> records.Records:
    found = batch(list(rows))
    offsets = np.full(found.num_rows, 7, np.int64)
    return records.split(found, offsets, PathTable(), Sources())


@pytest.mark.parametrize(
    ("said", "sent_lost_refused"),
    [
        ({"dial": "success"}, (1, 0, 0)),
        ({"dial": "success", "loss_rate": 0.0}, (1, 0, 0)),
        ({"dial": "success", "sent": 10, "lost": 3}, (10, 3, 0)),
        ({"dial": "success", "sent": 10, "loss_rate": 0.3}, (10, 3, 0)),
        ({"dial": "timeout"}, (1, 1, 0)),
        ({"dial": "timeout", "loss_rate": 1.0}, (1, 1, 0)),
        ({"dial": "timeout", "loss_rate": 0.0}, (1, 1, 0)),
        ({"dial": "timeout", "sent": 5}, (5, 5, 0)),
        ({"dial": "unreachable"}, (1, 1, 0)),
        ({"dial": "refused", "loss_rate": 1.0}, (1, 0, 1)),
        ({"dial": "refused", "sent": 4, "lost": 4}, (4, 0, 4)),
        ({"dial": "refused", "sent": 4, "task_type": "TCP_PING"}, (4, 0, 0)),
        ({"dial": "refused", "sent": 4, "task_type": "ICMP_PING"}, (4, 0, 0)),
        ({"dial": "timeout", "sent": 4, "task_type": "TCP_PING"}, (4, 4, 0)),
        ({"dial": "error", "sent": 4, "lost": 4}, (0, 0, 0)),
    ],
)
def test_probes_follow_what_the_record_says(
    said: dict[str, Any], sent_lost_refused: tuple[int, int, int]
) -> None:
    pings = taken_apart(ping(**said)).pings
    assert (pings.sent[0], pings.lost[0], pings.refused[0]) == sent_lost_refused


def test_round_trips_are_nanoseconds_and_absent_without_an_answer() -> None:
    pings = taken_apart(
        ping(latency=16.183), ping(dial="timeout", latency=None), ping(latency=3.6e9)
    ).pings
    assert pings.rtt_ns.tolist() == [16_183, NO_RTT, NO_RTT - 1]


@pytest.mark.parametrize(
    ("said", "rtt_ns"),
    [
        ({"latency": 40.0, "sent": 20, "p50_us": 15.0}, 15_000),
        ({"latency": 40.0, "sent": 20, "p50_us": None}, 40_000),
        ({"latency": 40.0, "sent": 20, "p50_us": float("nan")}, 40_000),
        ({"latency": 40.0, "sent": 20, "p50_us": -1.0}, 40_000),
        ({"latency": None, "dial": "timeout", "sent": 20, "p50_us": 15.0}, NO_RTT),
    ],
)
def test_the_round_trip_of_a_burst_is_its_median(said: dict[str, Any], rtt_ns: int) -> None:
    pings = taken_apart(ping(), ping(**said, src_port=2)).pings
    assert pings.rtt_ns[1] == rtt_ns


@pytest.mark.parametrize(
    ("hops", "between"),
    [
        (["tor-1", "tor-2", "10.0.0.2"], ("tor-1", "tor-2")),
        (["10.0.0.1", "tor-1", None, "tor-2", "10.0.0.2"], ("tor-1", None, "tor-2")),
        (["h1", "tor-1", "tor-2", "h2"], ("tor-1", "tor-2")),
        (["tor-1", None, "10.0.0.2"], ("tor-1", None)),
        (["tor-1", None], ("tor-1", None)),
        (["10.0.0.2"], ()),
    ],
)
def test_the_ends_of_a_traceroute_are_no_hops(
    hops: list[str | None], between: tuple[str | None, ...]
) -> None:
    row = ping(
        task_type="TRACEROUTE", route=json.dumps(hops), src_ip="10.0.0.1", dst_ip="10.0.0.2",
        src_node_sn="h1", dst_node_sn="h2",
    )  # fmt: skip
    (route,) = taken_apart(row).routes
    assert route.hops == between


def test_a_traceroute_is_a_route_and_no_ping() -> None:
    found = taken_apart(
        ping(), ping(task_type="TRACEROUTE", route='["tor-1", null, "tor-2"]', src_port=1)
    )
    assert len(found.pings) == 1
    (route,) = found.routes
    assert (route.hops, route.src_port, route.offset) == (("tor-1", None, "tor-2"), 1, 7)
    assert (route.fabric, route.time_ns) == ("f1", START_S * 10**9)


def test_sources_are_hosts_and_stay_so_when_paths_are_evicted() -> None:
    table, sources = PathTable(), Sources()

    def source_of(*rows: dict[str, Any]) -> list[tuple[str, str]]:
        found = batch(list(rows))
        pings = records.split(found, np.zeros(len(rows), np.int64), table, sources).pings
        table.last_seen_s[pings.path] = pings.time_ns // 10**9
        return [sources.names[code] for code in pings.source]

    assert source_of(ping(src="h1"), ping(900, src="h3")) == [("f1", "h1"), ("f1", "h3")]
    moved = table.forget(START_S + 800)
    assert moved is not None
    sources.reindex(moved)
    assert source_of(ping(901, src="h3"), ping(901, src="h4")) == [("f1", "h3"), ("f1", "h4")]
