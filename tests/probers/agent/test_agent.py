"""The agent end to end: packets on loopback, records at a relay, an orderly end."""

from __future__ import annotations

import json
import signal

import pytest
from builders.agents.site import LISTEN_PORT, SECRET, Site, ended
from builders.agents.waiting import Until

from probers.agent.agent import flow_rest_ns


def test_both_nics_probe_each_other_and_sigterm_loses_nothing(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[0], site.ips[1]], port=LISTEN_PORT)
    process = site.start("--fabric", "f1", "--timeout", "5")
    eventually(lambda: len([r for r in site.rows if r["dial"] == "success"]) > 40)
    eventually(lambda: any(r["task_type"] == "TRACEROUTE" and r["src_port"] == LISTEN_PORT
                           for r in site.rows))  # fmt: skip
    code, errors = ended(process)
    assert code == 0, errors
    assert SECRET not in errors
    pings = [row for row in site.rows if row["task_type"] == "UDP_PING"]
    assert {row["src_ip"] for row in pings} == {site.ips[0], site.ips[1]}
    assert {row["dial"] for row in pings} == {"success"}
    assert {(row["src_idc"], row["src_asw"], row["dscp"]) for row in pings} == {("f1", "tor-1", 26)}
    last = site.beats[-1]
    assert not last.alive, "the last heartbeat announces the end"
    sent = sum(counts.sent for counts in last.rnics.values())
    assert sent - 40 <= len(pings) <= sent, "all but those in flight, at 40 a second"
    assert len(site.beats) >= 2


def test_a_list_that_is_emptied_stops_the_probing_but_not_the_heartbeats(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]])
    process = site.start()
    eventually(lambda: bool(site.rows))
    site.write_list([])

    eventually(site.quiet)
    code, errors = ended(process, signal.SIGINT)
    assert code == 0
    assert "probing-stopped" in errors


def test_no_list_extends_the_allowed_networks_or_the_rate(site: Site, eventually: Until) -> None:
    site.write_list([site.ips[1], "127.9.9.9"], interval_s=0.01)
    process = site.start("--allow-cidr", f"{site.network}.0/24", "--max-rate", "20")
    eventually(lambda: len(site.beats) >= 4)
    code, errors = ended(process)
    assert code == 0
    assert {row["dst_ip"] for row in site.rows} <= {site.ips[1]}
    assert "targets-refused" in errors
    assert "interval-stretched" in errors
    seconds = (site.beats[-1].time - site.beats[0].time) / 1e9
    sent = sum(counts.sent for counts in site.beats[-1].rnics.values())
    assert sent <= 20 * seconds + 32


def test_an_endpoint_without_its_address_is_logged_once_and_the_agent_works(
    site: Site, eventually: Until
) -> None:
    site.write_list([])
    path = site.directory / "list.json"
    document = json.loads(path.read_text())
    document["endpoints"].append({"ip": "192.0.2.1", "real_ip": "192.0.2.1", "layer": "underlay"})
    path.write_text(json.dumps(document))
    process = site.start()
    eventually(lambda: len(site.beats) >= 3)
    code, errors = ended(process)
    assert code == 0
    assert errors.count("endpoint-not-bound") == 1


@pytest.mark.parametrize(("trace_interval_s", "rest_s"), [(0, 0), (4, 1), (60, 15), (1e300, 15)])
def test_a_flow_rests_no_longer_than_a_part_of_the_interval_of_its_traces(
    trace_interval_s: float, rest_s: int
) -> None:
    assert flow_rest_ns(trace_interval_s) == rest_s * 10**9
