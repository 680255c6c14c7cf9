"""An agent in a cgroup whose quota is used up is starved, and nothing of the network is blamed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from builders.fabric_site import Site, require_root, running_site

from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from skeletonhunter import cli
from testbed.netns import Fault, Plan, cpu_groups

pytestmark = [
    pytest.mark.netns,
    pytest.mark.slow,
    pytest.mark.skipif(bool(cpu_groups.missing()), reason=f"needs {cpu_groups.missing()}"),
]

PLAN = Plan(hosts=4, nics=2, hosts_per_tor=2, spines=2)
QUOTA = Fault(target="cpu", action="quota", at="agent:host-0", percent=20.0)
WITHIN_S = 300.0
WITHHELD = 0.1  # all of it on an idle machine


def of_host_0(site: Site, since_ns: int) -> list[Heartbeat]:
    """Heartbeats of the throttled agent, without the first, whose second is not all throttled."""
    beats = [each for each in site.collected.beats() if each.node_sn == "host-0"]
    return sorted((each for each in beats if each.time > since_ns), key=lambda each: each.time)[1:]


def diagnosed(site: Site, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Incidents of everything that the agents have published."""
    folder.mkdir()
    pings, beats = folder / "pings.ndjson", folder / "heartbeats.ndjson"
    pings.write_text("".join(f"{json.dumps(row)}\n" for row in site.collected.records()))
    beats.write_bytes(b"".join(heartbeat.encode(each) + b"\n" for each in site.collected.beats()))
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        cli.main(["diagnose", str(pings), "--heartbeats", str(beats), "--format", "json"])
    assert left.value.code in (0, 1)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_agent_that_is_throttled_is_starved_and_blames_nothing_of_the_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight busy threads and the agent share a fifth of a CPU; its timers are 0.2 s late."""
    require_root()
    with running_site(tmp_path, PLAN) as site:
        collected = site.collected
        collected.wait(lambda: len(collected.records("UDP_PING")) > 3000, WITHIN_S, "a baseline")
        made, begin_ns = site.fabric.create(QUOTA), time.time_ns()
        collected.wait(lambda: len(of_host_0(site, begin_ns)) > 20, WITHIN_S, "its heartbeats")
        beats = of_host_0(site, begin_ns)
        site.fabric.destroy(made)
        healed_ns = time.time_ns()
        collected.wait(
            lambda: any(beat.cpu_steal < 0.1 for beat in of_host_0(site, healed_ns)), WITHIN_S,
            "a heartbeat of an agent that is not throttled any more",
        )  # fmt: skip
        assert cpu_groups.present(f"skh-{os.getpid()}-") == []
        incidents = diagnosed(site, tmp_path / "published", capsys)
    # On a busy machine the group cannot even use up its quota, so that less of it is withheld.
    assert median(beat.cpu_steal for beat in beats) > WITHHELD
    # Nor do the other agents get all of their time there: their timers say so too.
    assert "agent:host-0" in {each["component"] for each in incidents}
    assert {each["symptom"] for each in incidents} == {"agent_starved"}, incidents
    throttled = [
        row for row in collected.records("UDP_PING", begin_ns)
        if row["src_node_sn"] == "host-0" and row["ping_time"] < healed_ns
    ]  # fmt: skip
    assert sum(row["cpu_steal"] > WITHHELD for row in throttled) > 0.5 * len(throttled) > 0
