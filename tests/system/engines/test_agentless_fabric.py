"""Real packets: TCP_PING and ICMP_PING records alone name a lossy link, and a dead agent.

A fabric of namespaces whose agents probe by all engines; in the end the agent of one host is
killed, and a firewall hides from UDP that it is gone.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from builders.fabric_site import Row, Site, diagnosed, running_site

from probers.agentless.probing import TCP_PORT
from probers.ping_list.document import RESPONDER_PORT
from schemas.component_ids import component, link
from testbed.netns import Plan, machine
from testbed.netns.faults.fault import Fault

pytestmark = [pytest.mark.netns, pytest.mark.slow]

LOSSY = ("tor-0", "spine-1")
DEAD = "host-5"
CLEAN_S, LOSSY_S, DEAD_S = 25.0, 25.0, 12.0
HANG_S = 300.0


class Played(NamedTuple):
    """What agents published until the end, and at which time [ns] the link became lossy."""

    site: Site
    rows: list[Row]
    lossy_ns: int


def passed(site: Site, begin_ns: int, seconds: float) -> None:
    """Wait until probes were sent so long after a time, however slowly agents publish."""
    until = begin_ns + int(seconds * 1e9)
    site.collected.wait(lambda: bool(site.collected.records("ICMP_PING", until)), HANG_S, "probes")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    plan = Plan(hosts=8, nics=2, hosts_per_tor=4, spines=2)
    engines = ("--engine", "tcp", "--engine", "icmp")
    with running_site(tmp_path_factory.mktemp("site"), plan, engines) as site:
        collected, fabric = site.collected, site.fabric
        collected.wait(lambda: len(traced(collected.records(), TCP_PORT)) >= 8 * 2 * 7 * 4,
                       HANG_S, "routes of TCP")  # fmt: skip
        passed(site, time.time_ns(), CLEAN_S)
        lossy_ns = time.time_ns()
        fabric.loss(LOSSY, 30.0)
        passed(site, lossy_ns, LOSSY_S)
        fabric.heal()
        dead_ns = time.time_ns()
        # Before the firewall: a host that beats and answers nothing is down to the network.
        for agent in fabric.agents.values():
            if agent.node_sn == DEAD:
                os.kill(agent.process.pid, signal.SIGSTOP)
        block = f"add rule inet f in udp dport {RESPONDER_PORT} drop"
        chain = "add chain inet f in { type filter hook input priority 0; }"
        for line in ("add table inet f", chain, block):
            machine.call(machine.inside(fabric.namespace(DEAD), ["nft", line]))
        fabric.create(Fault(target="process", action="kill", at=component("agent", DEAD)))
        passed(site, dead_ns, DEAD_S)
        yield Played(site, collected.records(), lossy_ns)


def traced(rows: list[Row], port: int) -> set[tuple[Any, ...]]:
    return {
        (row["src_ip"], row["src_port"], row["dst_ip"])
        for row in rows
        if row["task_type"] == "TRACEROUTE" and row["dst_port"] == port
        and row["dial"] in ("success", "refused")
    }  # fmt: skip


def of_port(port: int) -> Callable[[Row], bool]:
    """Records of TCP or of ICMP with their traceroutes."""
    return lambda row: port in (row["src_port"], row["dst_port"])


def test_kernels_answer_every_pair_and_nothing_is_lost_while_all_is_well(played: Played) -> None:
    clean = [row for row in played.rows if row["ping_time"] < played.lossy_ns - 2_000_000_000]
    for task, dial in (("TCP_PING", "refused"), ("ICMP_PING", "success")):
        rows = [row for row in clean if row["task_type"] == task]
        assert len({(row["src_ip"], row["dst_ip"]) for row in rows}) == 8 * 2 * 7 + 16
        assert sum(row["dial"] in (dial, "error") for row in rows) > 0.99 * len(rows)
        assert sum(row["dial"] == dial for row in rows) > 0.95 * len(rows)
        assert {row["timestamp"] for row in rows if row["dial"] == dial} == {
            "kernel" if dial == "success" else "user"
        }


@pytest.mark.parametrize(("task", "port"), [("TCP_PING", TCP_PORT), ("ICMP_PING", 0)])
def test_a_lossy_link_is_named_from_records_of_one_engine_alone(
    played: Played, tmp_path: Path, task: str, port: int
) -> None:
    found = diagnosed(played.site, tmp_path, of_port(port))
    lossy = link(*(component(name.partition("-")[0], name) for name in LOSSY))
    # Agents of a busy machine may be starved; of the network nothing but the link is named.
    names = [each["component"] for each in found if each["layer"] in ("underlay", "overlay")]
    assert names == [lossy], found


def test_an_agent_is_dead_whose_kernel_answers_behind_a_firewall(
    played: Played, tmp_path: Path
) -> None:
    found = diagnosed(played.site, tmp_path, lambda row: bool(row["ping_time"] > played.lossy_ns))
    dead = [each for each in found if each["component"] == component("agent", DEAD)]
    assert [each["symptom"] for each in dead] == ["agent_down"], found
    assert "its kernel answers the probes of" in dead[0]["evidence"]["text"]
    assert not any(each["component"] == component("host", DEAD) for each in found), found
