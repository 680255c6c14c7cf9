"""`skeletonhunter-agent doctor`: a line for each part, what to do, and an exit code."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from builders.agents.site import LISTEN_PORT, Site
from builders.agents.waiting import Until

from probers.command_line import options as command_line
from probers.doctor import host, network, services
from probers.doctor.finding import Finding
from probers.ping_list.document import Endpoint
from probers.rdma.scheduled.rnic import RdmaOptions


def levels(found: Iterator[Finding]) -> list[tuple[str, str]]:
    return [(each.level, each.part) for each in found]


# --- the whole command --------------------------------------------------------------------------


def doctor(site: Site, *arguments: str) -> tuple[int, str]:
    process = subprocess.run(
        [*site.command, "doctor", "--ping-list", str(site.directory / "list.json"),
         "--publish", f"unix:{site.directory / 'relay.sock'}", "--node-sn", "host-a",
         "--key-file", str(site.directory / "key"), "--listen-port", str(LISTEN_PORT),
         "--connect-timeout", "0.2", *arguments],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert process.stderr == ""
    return process.returncode, process.stdout


def test_a_host_that_has_everything(site: Site) -> None:
    site.write_list([site.ips[1]])
    code, text = doctor(site)
    assert code == 0, text
    lines = [line.split(maxsplit=2) for line in text.splitlines()]
    assert {"clock", "scheduling", "rdma", "list", "responder", "publish"} <= {
        part for _, part, *_ in lines[:-1]
    }
    assert lines[-1][0] == "0"
    assert site.beats == site.rows == [], "nothing is published"


def test_engines_without_agents_are_tried_at_the_own_endpoints(site: Site) -> None:
    site.write_list([site.ips[1]])
    code, text = doctor(site, "--engine", "tcp", "--engine", "icmp")
    assert code == 0, text
    found = [line.split(maxsplit=2) for line in text.splitlines()]
    answer = f"{len(site.ips)} endpoints answer"
    assert ["ok", "tcp", answer] in found
    assert ["ok", "icmp", answer] in found


def test_what_is_missing_is_named_with_its_remedy(site: Site) -> None:
    away = {"ip": "203.0.113.9", "real_ip": "203.0.113.9", "layer": "underlay"}
    site.write_list([], endpoints=[away])
    code, text = doctor(site, "--publish", f"unix:{site.directory / 'away.sock'}")
    assert code == 1
    assert "203.0.113.9 is not an address of this host; " in text
    assert "away.sock: No such file or directory; is the relay" in text


def test_targets_outside_of_what_may_be_probed(site: Site) -> None:
    site.write_list(["10.99.0.1"])
    code, text = doctor(site)
    assert code == 1
    assert "10.99.0.1 the first; add --allow-cidr" in text


def test_an_agent_that_runs_already_is_no_error(site: Site, eventually: Until) -> None:
    site.write_list([site.ips[1]])
    site.start()
    eventually(lambda: bool(site.pings))
    code, text = doctor(site)
    assert code == 0, text
    assert "is in use, by an agent it seems" in text


def test_wrong_usage_is_one_line(site: Site) -> None:
    process = subprocess.run(
        [*site.command, "doctor", "--publish", "unix:x"], capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1


# --- the parts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error_s", "synchronized", "level"),
    [(0.001, True, "ok"), (16.0, False, "warning"), (7.0, True, "error")],
)
def test_clock(error_s: float, synchronized: bool, level: str) -> None:
    assert levels(host.clock(lambda: (error_s, synchronized))) == [(level, "clock")]


def test_the_clock_of_this_kernel_can_be_read() -> None:
    error_s, synchronized = host.adjtimex()
    assert 0 <= error_s < 3600
    assert isinstance(synchronized, bool)


def test_who_serves_the_sockets_is_said(helper: str) -> None:
    (finding,) = host.helper()
    expected = {"native": "by the compiled helper", "python": "in Python, without"}
    assert (finding.level, finding.part) == ("ok", "helper")
    assert expected[helper] in finding.text


@pytest.mark.parametrize(("late_ns", "level"), [(50_000, "ok"), (20_000_000, "warning")])
def test_scheduling(late_ns: int, level: str) -> None:
    now = 0

    def wait(seconds: float) -> None:
        nonlocal now
        now += int(seconds * 1e9) + late_ns

    assert levels(host.scheduling(lambda: now, wait)) == [(level, "scheduling")]


@pytest.mark.parametrize(
    ("quota", "throttled", "found"),
    [("max 100000", 0, []), ("20000 100000", 0, [("ok", "cpu")]),
     ("20000 100000", 7, [("warning", "cpu")])],
)  # fmt: skip
def test_cpu_limit(
    tmp_path: Path, quota: str, throttled: int, found: list[tuple[str, str]]
) -> None:
    (tmp_path / "pod").mkdir()
    (tmp_path / "pod" / "cpu.max").write_text(quota + "\n")
    (tmp_path / "pod" / "cpu.stat").write_text(f"usage_usec 5\nnr_throttled {throttled}\n")
    (tmp_path / "own").write_text("1:cpu:/old\n0::/pod\n")
    assert levels(host.cpu_limit(tmp_path, tmp_path / "own")) == found
    assert levels(host.cpu_limit(tmp_path / "none", tmp_path / "own")) == []


def test_interfaces(tmp_path: Path) -> None:
    for name, state, mtu in (
        ("eth0", "up", "9000"),
        ("eth1", "down", "9000"),
        ("eth2", "up", "600"),
    ):
        (tmp_path / "net" / name).mkdir(parents=True)
        (tmp_path / "net" / name / "operstate").write_text(state + "\n")
        (tmp_path / "net" / name / "mtu").write_text(mtu + "\n")
    endpoints = [endpoint(f"10.0.0.{n}") for n in range(4)]
    names = {f"10.0.0.{n}": f"eth{n}" for n in range(3)}
    found = list(network.interfaces(endpoints, names, tmp_path))
    assert [each.level for each in found] == ["ok", "error", "warning", "error"]
    assert found[1].remedy == "ip link set eth1 up"


def endpoint(ip: str) -> Endpoint:
    return Endpoint(ip=ip, real_ip=ip, layer="underlay")


def test_a_port_of_another_kind_of_process_and_a_free_one(site: Site) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind((site.ips[0], LISTEN_PORT))
        found = list(network.sockets([endpoint(ip) for ip in site.ips], LISTEN_PORT))
    assert [each.level for each in found] == ["ok", "ok"]
    assert "in use" in found[0].text


@pytest.mark.parametrize(
    ("state", "gid", "level"),
    [("4: ACTIVE", "0000:0000:0000:0000:0000:ffff:0a00:0001", "ok"),
     ("4: ACTIVE", "0000:0000:0000:0000:0000:0000:0000:0000", "error"),
     ("1: DOWN", "0000:0000:0000:0000:0000:ffff:0a00:0001", "error")],
)  # fmt: skip
def test_rdma(tmp_path: Path, state: str, gid: str, level: str) -> None:
    port = tmp_path / "infiniband" / "mlx5_0" / "ports" / "1"
    (port / "gids").mkdir(parents=True)
    (port / "state").write_text(state + "\n")
    (port / "gids" / "0").write_text(gid + "\n")
    assert levels(network.rdma(tmp_path)) == [(level, "rdma")]
    assert levels(network.rdma(tmp_path / "none")) == [("ok", "rdma")]


@pytest.mark.parametrize(("ip", "level"), [("10.0.0.1", "ok"), ("10.0.0.2", "error")])
def test_the_device_of_each_endpoint_that_is_to_be_probed_over_rdma(
    tmp_path: Path, ip: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyverbs.device", ModuleType("pyverbs.device"))
    port = tmp_path / "mlx5_0" / "ports" / "1"
    for folder, text in (("gids", "::ffff:a00:1"), ("gid_attrs/types", "RoCE v2")):
        (port / folder).mkdir(parents=True)
        (port / folder / "3").write_text(text + "\n")
    found = network.rdma_engine([endpoint(ip)], RdmaOptions(), tmp_path)
    assert levels(found) == [(level, "rdma")]


def options(tmp_path: Path, *more: str) -> Any:
    (tmp_path / "key").touch(mode=0o600)
    (tmp_path / "key").write_text("a key that is long enough\n")
    return command_line.parse(
        ["--ping-list", "list.json", "--node-sn", "h", "--key-file", str(tmp_path / "key"),
         "--publish", "kafka:127.0.0.1:1", *more]
    )  # fmt: skip


def test_spool(tmp_path: Path) -> None:
    good = options(tmp_path, "--spool", str(tmp_path / "spool"), "--spool-mbytes", "1")
    assert levels(services.spool(good)) == [("ok", "spool")]
    assert list((tmp_path / "spool").iterdir()) == []
    (tmp_path / "file").touch()
    assert levels(services.spool(options(tmp_path, "--spool", str(tmp_path / "file" / "x")))) == [
        ("error", "spool")
    ]
    large = options(tmp_path, "--spool", str(tmp_path / "spool"), "--spool-mbytes", "100000000")
    assert levels(services.spool(large)) == [("warning", "spool")]
    assert levels(services.spool(options(tmp_path))) == [("warning", "spool")]


def test_a_broker_that_is_away(tmp_path: Path) -> None:
    (found,) = services.destination(options(tmp_path), 0.2)
    assert (found.level, found.part) == ("error", "publish")
    assert "no broker answered" in found.text
