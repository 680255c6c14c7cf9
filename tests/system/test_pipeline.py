"""Real packets through the whole house: silence while all is well, then the culprit by name.

Eight hosts, agents in each, `skeletonhunter up` as a user starts it. The overlay runs too: one
container a host over VXLAN, so that both layers speak.
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

from schemas.component_ids import component, link
from testbed.netns import Fabric, Plan, missing
from testbed.netns.probes.agents import start_agents

pytestmark = [pytest.mark.netns, pytest.mark.slow]

CLEAN_S = 60
NAMED_WITHIN_S = 15
Incident = dict[str, Any]


class House(NamedTuple):
    """A fabric that is watched."""

    fabric: Fabric
    url: str
    log: Path

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=300) as answer:  # noqa: S310 — loopback
            return json.load(answer)

    def incidents(self) -> list[Incident]:
        """Newest versions; children count with their parents."""
        found: list[Incident] = self.get("api/v1/incidents?limit=100")["items"]
        return found

    def wait(self, what: str, within_s: float, reached: Callable[[], Any]) -> Any:
        """Ask until there is an answer; fails the test when it is not within the deadline."""
        give_up_at = time.monotonic() + within_s
        while not (answer := reached()):
            if time.monotonic() > give_up_at:
                known = [(i["component"], i["symptom"], i["evidence"]) for i in self.incidents()]
                pytest.fail(f"not within {within_s} s: {what}; incidents: {known}")
            time.sleep(0.25)  # between two questions to the API
        return answer


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    if lacks := missing():
        pytest.skip(f"a namespace fabric needs {', '.join(lacks)}")
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
            yield House(fabric, page[1], log)
        finally:
            served.terminate()
            served.wait(300)
            assert served.stdout is not None
            served.stdout.close()
    assert served.returncode == 0, log.read_text()


def test_a_lossy_link_and_a_cut_nic_are_named_and_nothing_else(house: House) -> None:
    watched = 8 * 2 * 2 * 2  # endpoints x layers, times the two five-tuples of one pair at least
    house.wait(
        "paths are watched", 300, lambda: house.get("api/v1/summary")["paths_watched"] > watched
    )
    quiet_until = time.monotonic() + CLEAN_S
    while time.monotonic() < quiet_until:
        assert house.incidents() == [], "while all is well, nobody is blamed"
        time.sleep(1.0)  # the minute of clean running

    house.fabric.loss(("tor-1", "spine-0"), 30.0)
    broken = link(component("tor", "tor-1"), component("spine", "spine-0"))
    named = house.wait("the lossy link is named", NAMED_WITHIN_S, lambda: blamed(house, broken))
    assert named["component"] == broken, "traceroutes tell the link from its switches"
    assert named["symptom"] == "loss"
    house.fabric.heal()
    house.wait("the link's incident closes", 300, lambda: blamed(house, broken)["closed_at"])

    address = house.fabric.plan.nic_address(5, 1)
    house.fabric.nic_down("host-5", 1)
    cut = component("rnic", address)
    named = house.wait("the cut NIC is named", NAMED_WITHIN_S, lambda: blamed(house, cut))
    assert named["symptom"] == "unconnectivity"

    others = [
        incident
        for incident in house.incidents()
        if incident["parent"] is None and not {broken, cut} & {*incident["tie_set"]}
    ]
    assert others == []


def blamed(house: House, culprit: str) -> Incident | None:
    """The incident whose class holds the culprit."""
    return next((i for i in house.incidents() if culprit in i["tie_set"]), None)
