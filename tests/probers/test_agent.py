"""The agent end to end: packets on loopback, records at a relay, a clean end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from agent_site import SECRET, Site, ended

Until = Callable[[Callable[[], bool]], None]


def test_both_nics_probe_each_other_and_sigterm_loses_nothing(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[0], site.ips[1]])
    text = (site.directory / "list.json").read_text()
    (site.directory / "list.json").write_text(
        text.replace('"src_ports"', '"port": 65311, "src_ports"')
    )
    process = site.start("--fabric", "f1")
    eventually(lambda: len([r for r in site.rows if r["dial"] == "success"]) > 40)
    eventually(lambda: any(r["task_type"] == "TRACEROUTE" and r["src_port"] == 65311
                           for r in site.rows))  # fmt: skip
    code, errors = ended(process)
    assert code == 0, errors
    assert SECRET not in errors
    pings = [row for row in site.rows if row["task_type"] == "UDP_PING"]
    assert {row["src_ip"] for row in pings} == {site.ips[0], site.ips[1]}
    assert {row["dial"] for row in pings} == {"success"}
    assert {(row["src_idc"], row["src_asw"], row["dscp"]) for row in pings} == {("f1", "tor-1", 26)}
    last = site.beats[-1]
    assert not last.alive, "the last heartbeat says goodbye"
    sent = sum(counts.sent for counts in last.rnics.values())
    assert sent - 8 <= len(pings) <= sent, "all but the probes still in flight became records"
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


def test_no_list_lifts_the_allowed_networks_or_the_rate(site: Site, eventually: Until) -> None:
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


def test_an_endpoint_whose_address_is_not_there_is_said_once_and_the_rest_works(
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


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "said"),
    [
        ([], {}, 2, "required"),
        (["--ping-list", "/nowhere", "--publish", "file:-", "--node-sn", "a"], {}, 2, "probe key"),
        (["--ping-list", "/nowhere", "--publish", "file:-", "--node-sn", "a"],
         {"SKH_PROBE_KEY": SECRET}, 2, "/nowhere: No such file"),
        (["--ping-list", "L", "--publish", "ftp:x", "--node-sn", "a"],
         {"SKH_PROBE_KEY": SECRET}, 2, "give unix:PATH"),
        (["--ping-list", "L", "--publish", "file:-", "--node-sn", "a", "--key-file", "/nowhere"],
         {}, 2, "--key-file /nowhere: No such file or directory; give a readable file"),
        (["--ping-list", "L", "--publish", "file:-", "--node-sn", "host-a", "--key-file", "OPEN"],
         {}, 2, "run: chmod 600 "),
        (["--ping-list", "L", "--publish", "file:-", "--node-sn", "a", "--allow-cidr", "x"],
         {"SKH_PROBE_KEY": SECRET}, 2, "give a network such as"),
        (["--ping-list", "L", "--publish", "file:-", "--node-sn", "b"],
         {"SKH_PROBE_KEY": SECRET}, 2, "is for node_sn 'host-a'"),
        (["--ping-list", "L", "--publish", "unix:/nowhere/x", "--node-sn", "host-a",
          "--connect-timeout", "0.1"], {"SKH_PROBE_KEY": SECRET}, 3, "is the relay"),
        (["--ping-list", "L", "--publish", "kafka:127.0.0.1:1", "--node-sn", "host-a",
          "--connect-timeout", "0.2"], {"SKH_PROBE_KEY": SECRET}, 3, "no broker answered"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line_and_its_exit_code(
    site: Site, arguments: list[str], environment: dict[str, str], code: int, said: str
) -> None:
    site.write_list([site.ips[1]])
    (site.directory / "open").touch(mode=0o644)
    (site.directory / "open").write_text(SECRET)
    places = {"L": str(site.directory / "list.json"), "OPEN": str(site.directory / "open")}
    arguments = [places.get(argument, argument) for argument in arguments]
    done = subprocess.run(
        [sys.executable, "-m", "probers.agent.main", *arguments],
        capture_output=True, text=True, check=False, timeout=600, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert SECRET not in done.stderr


def test_help_shows_an_example() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "probers.agent.main", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "example:" in done.stdout
    assert "--allow-cidr 10.0.0.0/8" in done.stdout
