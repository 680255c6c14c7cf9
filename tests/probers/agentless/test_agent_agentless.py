"""An agent with --engine tcp and --engine icmp: what it probes of its list, and its options."""

from __future__ import annotations

import json

import pytest
from builders.agents.site import LISTEN_PORT, SECRET, Site, ended
from builders.agents.waiting import Until

from probers.agentless.probing import TCP_PORT, AgentlessOptions
from probers.command_line import options
from probers.net.packet import KEY_VARIABLE

NEEDED = ["--ping-list", "L", "--publish", "file:-", "--node-sn", "a"]


def test_targets_are_probed_by_every_engine_that_is_asked_for(
    site: Site, eventually: Until
) -> None:
    """The target runs no agent: UDP is refused, TCP by a reset, and the echo is answered."""
    site.write_list([site.ips[1]])
    process = site.start("--engine", "tcp", "--engine", "icmp", "--trace-interval", "1")
    eventually(
        lambda: {"UDP_PING", "TCP_PING", "ICMP_PING"} <= {row["task_type"] for row in site.rows}
    )
    eventually(
        lambda: (
            {(TCP_PORT, "refused"), (0, "success")}
            <= {(r["dst_port"], r["dial"]) for r in site.rows if r["task_type"] == "TRACEROUTE"}
        )
    )
    code, errors = ended(process)
    assert code == 0, errors
    tcp = [row for row in site.rows if row["task_type"] == "TCP_PING"]
    assert {(row["src_port"], row["dst_port"]) for row in tcp} == {
        (51000, TCP_PORT), (51001, TCP_PORT),
    }  # fmt: skip
    assert {row["dial"] for row in tcp} == {"refused"}
    assert all(row["loss_rate"] == 0 and row["latency"] > 0 and row["dscp"] == 26 for row in tcp)
    icmp = [row for row in site.rows if row["task_type"] == "ICMP_PING"]
    assert {(row["src_port"], row["dst_port"], row["dial"]) for row in icmp} == {
        (LISTEN_PORT, 0, "success")
    }
    assert {row["timestamp"] for row in icmp} == {"kernel"}
    assert site.beats[-1].rnics[site.ips[0]].sent >= len(tcp) + len(icmp)


def test_a_target_without_an_agent_is_probed_by_kernels_answers_only(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]])
    file = site.directory / "list.json"
    document = json.loads(file.read_text())
    for target in document["targets"]:
        target["agent"] = False
    file.write_text(json.dumps(document))
    process = site.start("--engine", "icmp")
    eventually(lambda: len(site.rows) > 20)
    code, errors = ended(process)
    assert code == 0, errors
    assert {row["task_type"] for row in site.rows} == {"ICMP_PING", "TRACEROUTE"}


def test_targets_outside_of_the_allowed_networks_are_not_probed(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1], "198.51.100.7"])
    process = site.start("--engine", "tcp", "--engine", "icmp")
    eventually(lambda: len(site.rows) > 50)
    code, errors = ended(process)
    assert code == 0, errors
    assert "targets-refused" in errors
    assert {row["dst_ip"] for row in site.rows} == {site.ips[1]}


def test_all_engines_together_keep_the_rate_limit(site: Site, eventually: Until) -> None:
    """One source has two source ports: five probes a round, 0.8 of the rate is for probes."""
    site.write_list([site.ips[1]], interval_s=0.01)
    process = site.start("--engine", "tcp", "--engine", "icmp", "--max-rate", "20",
                         "--trace-interval", "0")  # fmt: skip
    eventually(lambda: len(site.rows) > 20)
    code, errors = ended(process)
    assert code == 0, errors
    assert "event=interval-stretched wanted_s=0.01 interval_s=0.312" in errors


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, SECRET)


def test_only_the_engines_that_are_asked_for_are_used() -> None:
    assert options.parse(NEEDED).agentless is None
    read = options.parse([*NEEDED, "--engine", "rdma", "--engine", "tcp", "--tcp-port", "22"])
    assert read.agentless == AgentlessOptions(frozenset({"tcp"}), 22)
    assert read.rdma is not None
    assert options.parse([*NEEDED, "--engine", "icmp"]).agentless == AgentlessOptions(
        frozenset({"icmp"})
    )
