"""What is read of a host: counters of its ports, and what one fixed command prints; bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from probers.requests import ethtool
from probers.requests.host_facts import HostFacts
from probers.requests.limits import RequestLimits
from probers.requests.port_states import Rnics


def nothing(_: str) -> dict[str, int]:
    raise OSError


def interface(root: Path, name: str, **files: str) -> None:
    folder = root / "net" / name
    (folder / "statistics").mkdir(parents=True)
    for file, text in files.items():
        (folder / file).write_text(text + "\n")


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
    facts = HostFacts(root=tmp_path, statistics=nothing)
    found = {each.device: each.values for each in facts.counters()}
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
        (("/bin/echo", "a; b", "$HOME"), "$ /bin/echo a; b $HOME\na; b $HOME\n", False),
        (("/usr/bin/yes", "flow"), "$ /usr/bin/yes flow\n" + "flow\n" * 16, True),
        (("/bin/printf", r"\303\274\001"), "$ /bin/printf \\303\\274\\001\n???\n", False),
    ],
)
def test_the_flow_table_is_what_the_command_prints_without_a_shell_as_ascii(
    command: tuple[str, ...], text: str, cut: bool
) -> None:
    facts = HostFacts([command], RequestLimits(output_bytes=100))
    assert facts.flow_table() == (text, cut)


def test_a_command_that_does_not_end_is_killed() -> None:
    facts = HostFacts([("/bin/sleep", "600")], RequestLimits(command_s=0.05))
    with pytest.raises(OSError, match=r"ran for more than 0\.05 s"):
        facts.flow_table()


def test_what_several_commands_print_is_below_their_names() -> None:
    facts = HostFacts([("/bin/echo", "-n", "a"), ("/bin/echo", "b")])
    assert facts.flow_table() == ("$ /bin/echo -n a\na\n$ /bin/echo b\nb\n", False)


def test_states_of_a_port_are_among_its_values(tmp_path: Path) -> None:
    port(tmp_path, "mlx5_0")
    folder = tmp_path / "infiniband/mlx5_0/ports/1"
    (folder / "state").write_text("1: DOWN\n")
    (folder / "phys_state").write_text("3: Disabled\n")
    (folder / "gid_attrs/ndevs").mkdir(parents=True)
    (folder / "gid_attrs/ndevs/0").write_text("eth0\n")
    interface(tmp_path, "eth0", carrier="0", flags="0x1003", carrier_changes="7")
    rnics = Rnics(lambda: {"10.0.0.1": "eth0"}, dict)
    facts = HostFacts(root=tmp_path, rnics=rnics, statistics=lambda _: {"rx_crc_errors_phy": 2})
    facts.learn_rnics(["10.0.0.1"])
    rdma, net = facts.counters()
    assert (rdma.rnic, rdma.values) == ("10.0.0.1", {"port_state": 1, "phys_state": 3})
    assert (net.rnic, net.values) == ("10.0.0.1", {
        "device_present": 1, "address_present": 1, "carrier": 0, "carrier_changes": 7,
        "admin_up": 1, "rx_crc_errors_phy": 2,
    })  # fmt: skip


def test_a_bond_has_as_many_ports_up_as_say_so(tmp_path: Path) -> None:
    interface(tmp_path, "p0", operstate="up")
    interface(tmp_path, "p1", operstate="down")
    interface(tmp_path, "bond0")
    (tmp_path / "net/bond0/bonding").mkdir()
    (tmp_path / "net/bond0/bonding/slaves").write_text("p0 p1\n")
    facts = HostFacts(root=tmp_path, statistics=nothing)
    assert [each.values for each in facts.counters()] == [{"bond_ports_up": 1}]


def test_an_rnic_that_lost_its_address_or_its_interface_is_known_still(tmp_path: Path) -> None:
    interface(tmp_path, "eth0")
    there = {"10.0.0.1": "eth0", "10.0.0.2": "eth1"}
    facts = HostFacts(root=tmp_path, rnics=Rnics(lambda: there, dict), statistics=nothing)
    facts.learn_rnics(["10.0.0.1", "10.0.0.2"])
    there.clear()
    assert [(each.device, each.rnic, each.values) for each in facts.counters()] == [
        ("eth0", "10.0.0.1", {"device_present": 1, "address_present": 0}),
        ("eth1", "10.0.0.2", {"device_present": 0}),
    ]


def test_devices_of_another_network_namespace_are_no_rnic_s(tmp_path: Path) -> None:
    interface(tmp_path, "eth0", ifindex="2")
    for own in ({"eth0": 7}, {"eth0": 2, "eth1": 3}):
        rnics = Rnics(lambda: {"10.0.0.1": "eth0"}, lambda known=own: known)  # type: ignore[misc]
        facts = HostFacts(root=tmp_path, rnics=rnics, statistics=nothing)
        facts.learn_rnics(["10.0.0.1"])
        assert [each for each in facts.counters() if each.rnic] == []


def test_what_drivers_count_is_read_from_the_kernel() -> None:
    for name in os.listdir("/sys/class/net"):
        try:
            found = ethtool.statistics(name)
        except OSError:
            continue
        assert all(each and each.isprintable() for each in found)
    with pytest.raises(OSError, match="No such device"):
        ethtool.statistics("no-such-rnic")
