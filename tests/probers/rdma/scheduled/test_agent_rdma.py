"""An agent with --engine rdma: its options, and a machine without a device."""

from __future__ import annotations

import pytest
from builders.agents.site import SECRET, Site, ended
from builders.agents.waiting import Until

from probers.command_line import options
from probers.command_line.options import UsageError
from probers.net.packet import KEY_VARIABLE
from probers.rdma.devices import Gid
from probers.rdma.scheduled.rnic import RdmaOptions

NEEDED = ["--ping-list", "L", "--publish", "file:-", "--node-sn", "a"]


def test_an_agent_without_a_usable_device_says_so_in_one_line_and_goes_on_with_udp(
    site: Site, eventually: Until
) -> None:
    """A loopback address has no GID, whatever devices this machine has."""
    site.write_list([site.ips[1]])
    process = site.start("--engine", "rdma", "--layer", "underlay")
    eventually(lambda: len(site.pings) > 10 and len(site.beats) > 2)
    code, errors = ended(process)
    assert code == 0, errors
    assert {row["task_type"] for row in site.pings} == {"UDP_PING"}
    lines = [line for line in errors.splitlines() if "rdma-not-used" in line]
    assert len(lines) == len(site.ips), "one for each endpoint"
    assert all("goes_on_with=UDP_PING" in line for line in lines)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, SECRET)


def test_rdma_is_off_unless_it_is_asked_for() -> None:
    assert options.parse(NEEDED).rdma is None
    assert options.parse([*NEEDED, "--engine", "rdma"]).rdma == RdmaOptions()


def test_queue_pairs_gids_and_service_classes_are_options() -> None:
    given = ["--rdma-queue-pairs", "8", "--rdma-gid", "10.0.0.1=mlx5_0/1/3",
             "--rdma-gid", "2001:DB8:0::7=mlx5_1/1/5",
             "--rdma-service-level", "3", "--rdma-traffic-class", "106"]  # fmt: skip
    assert options.parse([*NEEDED, "--engine", "rdma", *given]).rdma == RdmaOptions(
        8, {"10.0.0.1": Gid("mlx5_0", 1, 3), "2001:db8::7": Gid("mlx5_1", 1, 5)}, 3, 106
    )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["--rdma-gid", "10.0.0.1=mlx5_0/3"], "is not IP=DEVICE/PORT/INDEX"),
        (["--rdma-gid", "host=mlx5_0/1/3"], "give IP=DEVICE/PORT/INDEX"),
        (["--rdma-queue-pairs", "0"], "invalid choice: 0"),
        (["--rdma-traffic-class", "256"], "invalid choice: 256"),
    ],
)
def test_invalid_options_are_one_line(
    given: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options.parse([*NEEDED, "--engine", "rdma", *given])
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line


@pytest.mark.parametrize(
    "given", [[*NEEDED, "--layer", "overlay"], ["--host-agent", "S", *NEEDED[2:]]]
)
def test_the_overlay_is_not_probed_over_rdma(given: list[str]) -> None:
    with pytest.raises(UsageError, match="this agent serves the overlay"):
        options.parse([*given, "--engine", "rdma"])
