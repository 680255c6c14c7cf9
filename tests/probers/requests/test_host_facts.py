"""What is read of a host: counters of its ports, and what one fixed command prints; bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from probers.requests.host_facts import HostFacts
from probers.requests.limits import RequestLimits


def port(root: Path, device: str, **values: str) -> None:
    folder = root / "infiniband" / device / "ports" / "1"
    for kind in ("counters", "hw_counters"):
        (folder / kind).mkdir(parents=True)
    for name, text in values.items():
        (folder / "hw_counters" / name).write_text(text)


def test_all_counters_of_rdma_ports_and_error_counters_of_interfaces_are_read(
    tmp_path: Path,
) -> None:
    port(tmp_path, "mlx5_0", out_of_sequence="3\n", broken="N/A\n")
    for name in ("lo", "eth0"):
        folder = tmp_path / "net" / name / "statistics"
        folder.mkdir(parents=True)
        for counter in ("rx_errors", "tx_dropped", "rx_bytes"):
            (folder / counter).write_text("5\n")
    found = {each.device: each.values for each in HostFacts(root=tmp_path).counters()}
    assert found == {
        "mlx5_0/1": {"out_of_sequence": 3},
        "eth0": {"rx_errors": 5, "tx_dropped": 5},
    }


def test_a_host_without_devices_has_no_counters(tmp_path: Path) -> None:
    assert HostFacts(root=tmp_path).counters() == []


def test_devices_and_counters_are_bounded(tmp_path: Path) -> None:
    for device in range(4):
        port(tmp_path, f"mlx5_{device}", **{f"c{number}": "1" for number in range(4)})
    few = HostFacts((), RequestLimits(devices=3, values=6), root=tmp_path)
    assert [len(each.values) for each in few.counters()] == [4, 2]


@pytest.mark.parametrize(
    ("command", "text", "cut"),
    [
        (("/bin/echo", "a; b", "$HOME"), "a; b $HOME\n", False),
        (("/usr/bin/yes", "flow"), "flow\n" * 20, True),
        (("/usr/bin/printf", r"\303\274\001"), "???", False),
    ],
)
def test_the_flow_table_is_what_the_command_prints_without_a_shell_as_ascii(
    command: tuple[str, ...], text: str, cut: bool
) -> None:
    facts = HostFacts(command, RequestLimits(output_bytes=100))
    assert facts.flow_table() == (text, cut)


def test_a_command_that_does_not_end_is_killed() -> None:
    facts = HostFacts(("/bin/sleep", "600"), RequestLimits(command_s=0.05))
    with pytest.raises(OSError, match=r"ran for more than 0\.05 s"):
        facts.flow_table()
