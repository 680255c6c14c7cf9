"""Real packets through `skeletonhunter up`: no incident while clean, then each culprit by name.

Eight hosts with an agent and a container each, so that underlay and overlay are both probed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from builders.fabric_site import require_root

from schemas.component_ids import component, link
from testbed.netns import Fabric, Plan
from testbed.netns.probes.agents import start_agents

pytestmark = [pytest.mark.netns, pytest.mark.slow]

#: Without a fault; ``tests/trials`` judges ten clean minutes, of simulated input.
CLEAN_S = 20
NAMED_WITHIN_S = 15
Incident = dict[str, Any]


class Watched(NamedTuple):
    """A fabric, and the address of the runtime that watches it."""

    fabric: Fabric
    url: str
    log: Path

    def get(self, path: str) -> Any:
        """Read a document of the API."""
        with urllib.request.urlopen(self.url + path, timeout=300) as answer:  # noqa: S310 — loopback
            return json.load(answer)

    def incidents(self) -> list[Incident]:
        """The newest version of each incident, children included."""
        found: list[Incident] = self.get("api/v1/incidents?limit=100")["items"]
        return found

    def wait(self, what: str, within_s: float, reached: Callable[[], Any]) -> Any:
        """Poll until ``reached()`` is true, and return it; fails the test after ``within_s``."""
        deadline = time.monotonic() + within_s
        while not (answer := reached()):
            if time.monotonic() > deadline:
                known = [(i["component"], i["symptom"], i["evidence"]) for i in self.incidents()]
                pytest.fail(f"not within {within_s} s: {what}; incidents: {known}")
            time.sleep(0.25)  # between two requests
        return answer

    def naming(self, culprit: str) -> Incident | None:
        """The incident whose tie set holds the culprit."""
        return next((i for i in self.incidents() if culprit in i["tie_set"]), None)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    require_root()
    plan = Plan(hosts=8, nics=2, hosts_per_tor=4, spines=2, containers=1)
    topology, relay, log = tmp_path / "t.json", tmp_path / "r.sock", tmp_path / "up.log"
    with Fabric(plan) as fabric:
        topology.write_bytes(msgspec.json.encode(fabric.topology))
        command = [
            sys.executable, "-m", "skeletonhunter.cli", "up", "--relay", str(relay), "--port", "0",
            "--data", str(tmp_path / "var"), "--topology", str(topology),
        ]  # fmt: skip
        with log.open("wb") as err:
            served = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True)
        try:
            assert served.stdout is not None
            page = served.stdout.readline().split()
            assert page[:1] == ["page"], log.read_text()
            start_agents(
                fabric, tmp_path, f"unix:{relay}", ports_per_pair=2, stderr=subprocess.DEVNULL
            )
            yield Watched(fabric, page[1], log)
        finally:
            served.terminate()
            served.wait(300)
            assert served.stdout is not None
            served.stdout.close()
    assert served.returncode == 0, log.read_text()


def test_a_lossy_link_and_a_cut_nic_are_named_and_nothing_else(watched: Watched) -> None:
    least = 8 * 2 * 2 * 2  # endpoints x layers, times the two five-tuples of one pair at least
    watched.wait(
        "paths are watched", 300, lambda: watched.get("api/v1/summary")["paths_watched"] > least
    )
    clean_until = time.monotonic() + CLEAN_S
    while time.monotonic() < clean_until:
        assert watched.incidents() == [], "no fault, no incident"
        time.sleep(1.0)  # between two requests

    watched.fabric.loss(("tor-1", "spine-0"), 30.0)
    broken = link(component("tor", "tor-1"), component("spine", "spine-0"))
    named = watched.wait("the lossy link is named", NAMED_WITHIN_S, lambda: watched.naming(broken))
    assert named["component"] == broken, "traceroutes tell the link from its switches"
    assert named["symptom"] == "loss"
    watched.fabric.heal()

    cut = component("rnic", watched.fabric.plan.nic_address(5, 1))
    watched.fabric.nic_down("host-5", 1)
    named = watched.wait("the cut NIC is named", NAMED_WITHIN_S, lambda: watched.naming(cut))
    assert named["symptom"] == "unconnectivity"
    watched.wait(
        "the link's incident closes", 300, lambda: (watched.naming(broken) or {})["closed_at"]
    )

    others = [
        incident
        for incident in watched.incidents()
        if incident["parent"] is None and not {broken, cut} & {*incident["tie_set"]}
    ]
    assert others == []
