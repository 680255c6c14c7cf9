"""``ping-lists`` and ``coverage``: lists for agents, and what they cross."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from builders.command_line import Command
from builders.controller.clusters import two_tiers

from probers.ping_list import document as ping_list
from schemas.documents.topology import Topology


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    path = tmp_path / "topology.json"
    path.write_bytes(msgspec.json.encode(two_tiers(8, rails=1)))
    return path


def test_every_host_gets_a_list_that_its_agent_accepts(
    command: Command, topology: Path, tmp_path: Path
) -> None:
    done = command("ping-lists", topology, "--out", tmp_path / "lists", "--interval", "2")
    assert done.code == 0
    files = sorted((tmp_path / "lists").glob("*.json"))
    assert [path.stem for path in files] == [f"h{host:03}" for host in range(8)]
    for path in files:
        read = ping_list.parse(path.read_bytes(), str(path))
        assert read.node_sn == path.stem
        assert read.interval_s == 2
    assert done.out.startswith("8 lists in ")


def test_a_harder_goal_makes_shorter_intervals(
    command: Command, topology: Path, tmp_path: Path
) -> None:
    def interval(*goal: str) -> float:
        out = tmp_path / "-".join(goal)
        assert command("ping-lists", topology, "--out", out, *goal).code == 0
        seconds = ping_list.parse((out / "h000.json").read_bytes(), "list").interval_s
        assert seconds is not None
        return seconds

    assert interval("--loss", "1") > interval("--loss", "0.02") > interval("--loss", "0.005")
    assert interval("--within", "60") > interval("--within", "10")


def test_a_goal_out_of_reach_is_said(command: Command, topology: Path, tmp_path: Path) -> None:
    done = command("ping-lists", topology, "--out", tmp_path / "lists", "--loss", "0.0001")
    assert "the goal is out of reach: only a loss of 0." in done.err


def test_coverage_of_the_planned_lists_is_a_table_by_tier(command: Command, topology: Path) -> None:
    done = command("coverage", topology)
    assert done.code == 0
    head, rnics, uplinks, *_ = done.out.splitlines()
    assert head.split()[:3] == ["tier", "links", "crossed"]
    assert rnics.split()[:3] == ["rnic-tor", "8", "8"]
    assert uplinks.split()[:3] == ["tor-spine", "8", "8"]
    assert "routes are not known" in done.out


def test_coverage_without_lists_is_that_of_the_lists_that_ping_lists_plans(
    command: Command, topology: Path, tmp_path: Path
) -> None:
    for number, goal in enumerate(([], ["--loss", "0.2"], ["--interval", "3"])):
        lists = tmp_path / str(number)
        command("ping-lists", topology, "--out", lists, *goal)
        planned = json.loads(command("coverage", topology, "--lists", lists, "--json").out)
        assert json.loads(command("coverage", topology, *goal, "--json").out) == planned


def test_a_link_that_no_probe_crosses_is_named_and_is_the_exit_code(
    command: Command, topology: Path, tmp_path: Path
) -> None:
    document = json.loads(topology.read_text())
    document["switches"].append({"id": "tor-spare", "tier": "asw"})
    document["links"].append(["tor-spare", "spine-0"])
    topology.write_text(json.dumps(document))
    done = command("coverage", topology)
    assert done.code == 1
    assert "no probe crosses: link:spine:spine-0|tor:tor-spare\n" in done.out
    found = json.loads(command("coverage", topology, "--json").out)
    assert found["uncovered"] == ["link:spine:spine-0|tor:tor-spare"]
    (spare,) = [each for each in found["links"] if each["link"].endswith("tor-spare")]
    assert (spare["state"], spare["smallest_loss"]) == ("uncovered", None)


def test_traceroutes_replace_expectations(command: Command, topology: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    command("ping-lists", topology, "--out", lists, "--interval", "1")
    rows = []
    fabric = msgspec.json.decode(topology.read_bytes(), type=Topology)
    tor = {rnic.real_ip: rnic.asw for host in fabric.hosts for rnic in host.rnics}
    for path in lists.glob("*.json"):
        for target in json.loads(path.read_text())["targets"]:
            for port in target["src_ports"]:
                a, b = target["src_ip"], target["ip"]
                if tor[a] != tor[b]:
                    rows += [trace(a, b, port, 65300, tor), trace(b, a, 65300, port, tor)]
    records = tmp_path / "traces.ndjson"
    records.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = command("coverage", topology, "--lists", lists, "--traceroutes", records)
    assert done.code == 1, "all routes lead over one spine"
    assert f"{len({str(row) for row in rows}):,} routes known" in done.out
    assert "no probe crosses: link:spine:spine-1|tor:tor-0-0" in done.out
    for row in rows:  # as of agents that probe other lists
        row["src_port" if row["dst_port"] == 65300 else "dst_port"] = 1
    records.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = command("coverage", topology, "--lists", lists, "--traceroutes", records)
    assert "traced routes is of a five-tuple of these lists: crossings are expected" in done.out
    assert "no traced five-tuple crosses" not in done.out


def trace(a: str, b: str, port: int, to_port: int, tor: dict[str, str]) -> dict[str, object]:
    return {
        "task_type": "TRACEROUTE", "agent_type": "underlay", "src_ip": a, "dst_ip": b,
        "src_real_ip": a, "dst_real_ip": b, "src_node_sn": a, "dst_node_sn": b, "src_idc": "f1",
        "src_port": port, "dst_port": to_port, "ping_time": 1_790_000_000_000_000_000,
        "dial": "success", "route": json.dumps([tor[a], "spine-0", tor[b]]),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("coverage", "absent.json"), "give a readable topology.json"),
        (("coverage", "{}", "--lists", "/nowhere"), "no list of a host"),
        (("coverage", "{}", "--within", "3"), "--within 3: give at least"),
        (("coverage", "{}", "--traceroutes", "/nowhere"), "give a readable file"),
        (("ping-lists", "{}", "--out", "/proc/x"), "writable --out"),
        (("ping-lists", "{}", "--out", "unused", "--interval", "9999"), "0.01 to 3600"),
        (("ping-lists", "{}", "--out", "unused", "--interval", "0"), "0.01 to 3600"),
        (("coverage", "{}", "--interval", "9999"), "0.01 to 3600"),
    ],
)
def test_unusable_input_is_one_line(
    command: Command, topology: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    done = command(*(each.replace("{}", str(topology)) for each in arguments))
    assert done.code == 2
    assert complaint in done.error_line
