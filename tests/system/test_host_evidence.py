"""Real ports that go down, flap and lose their address: what agents read names the issue type."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import msgspec
import pytest
from builders.agents.host_evidence import evidence

from localizer.host_evidence.collected import CollectedEvidence
from localizer.host_evidence.finding import HostFinding, Question
from schemas.documents.incident import Symptom
from schemas.documents.requests.evidence import DeviceCounters
from testbed.netns import Fabric, Fault, Plan, machine, missing

pytestmark = [pytest.mark.netns, pytest.mark.slow]

PLAN = Plan(hosts=2, nics=1, hosts_per_tor=1, spines=1)
RNIC = PLAN.nic_address(0, 0)
TIE = (f"rnic:{RNIC}", f"link:rnic:{RNIC}|tor:tor-0")
#: Reads the host's counters for each line that it is given, as an agent with this rnic does.
READER = f"""
import msgspec, sys
from probers.requests.host_facts import HostFacts
facts = HostFacts()
facts.learn_rnics([{RNIC!r}])
for _ in sys.stdin:
    print(msgspec.json.encode(facts.counters()).decode(), flush=True)
"""


@pytest.fixture(scope="module")
def fabric() -> Iterator[Fabric]:
    if lacks := missing():
        pytest.skip(f"a fabric needs {', '.join(lacks)}")
    with Fabric(PLAN) as built:
        yield built


class Reader:
    """The part of host-0's agent that reads counters, with the host's own /sys."""

    def __init__(self, fabric: Fabric) -> None:
        script = 'mount -t sysfs sysfs /sys && exec "$0" -c "$1"'
        command = ["unshare", "--mount", "sh", "-c", script, sys.executable, READER]
        self.process = subprocess.Popen(  # this very reader
            machine.inside(fabric.namespace("host-0"), command),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.read()

    def read(self) -> list[DeviceCounters]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("read\n")
        self.process.stdin.flush()
        return msgspec.convert(json.loads(self.process.stdout.readline()), list[DeviceCounters])

    def close(self) -> None:
        self.process.communicate(timeout=60)  # closes its input, at which it ends
        assert self.process.returncode == 0


def decided(
    fabric: Fabric, symptom: Symptom, during: Callable[[], object] = lambda: None
) -> HostFinding | None:
    """What two readings of host-0's counters say, between which something is done."""
    reader = Reader(fabric)
    try:
        before = reader.read()
        during()
        after = reader.read()
    finally:
        reader.close()
    assert {each.rnic for each in before} >= {RNIC}
    known = CollectedEvidence()
    known.add(evidence("host-0", counters=[*before, *after]))
    return known.answer("I1", Question(TIE[0], TIE, symptom), "f1", {RNIC: "host-0"})


def fault(fabric: Fabric, action: str, at: str) -> Callable[[], object]:
    return lambda: fabric.create(Fault(target="network", action=action, at=at))


def test_a_port_that_is_well_decides_nothing(fabric: Fabric) -> None:
    assert decided(fabric, "unconnectivity") is None
    assert decided(fabric, "loss") is None


@pytest.mark.parametrize(
    ("action", "at", "issue_type"),
    [
        ("down", f"rnic:{RNIC}", "rnic_port_down"),
        ("down", TIE[1], "rnic_port_down"),
        ("address", f"rnic:{RNIC}", "rnic_gid_change"),
    ],
)
def test_a_dead_port_says_how_it_died(
    fabric: Fabric, action: str, at: str, issue_type: str
) -> None:
    found = decided(fabric, "unconnectivity", fault(fabric, action, at))
    fabric.heal()
    assert found is not None
    assert found.issue_type == issue_type
    assert found.component == f"rnic:{RNIC}"


def test_a_port_that_went_down_and_came_back_has_flapped(fabric: Fabric) -> None:
    def once() -> None:
        fabric.create(Fault(target="network", action="down", at=f"rnic:{RNIC}"))
        fabric.heal()

    found = decided(fabric, "loss", once)
    assert found is not None
    assert (found.issue_type, found.decides) == ("rnic_port_flapping", False)
    assert "its link went down" in found.text
