"""Which RDMA device has an address, as the kernel shows GIDs in /sys."""

from __future__ import annotations

from pathlib import Path

import pytest

from probers.rdma.devices import Gid, RdmaError, address_of, first_gid, gid_of, own_gid

LINK_LOCAL = "fe80:0000:0000:0000:5054:00ff:fe12:3456"
UNIQUE_LOCAL = "fd00:0000:0000:0001:0000:0000:0000:0001"
GLOBAL = "2001:0db8:0000:0000:0000:0000:0000:0007"
NONE = "0000:0000:0000:0000:0000:0000:0000:0000"


def add(root: Path, place: str, gid: str, kind: str) -> None:
    device, port, entry = place.split("/")
    table = root / device / "ports" / port / "gids"
    kinds = table.parent / "gid_attrs" / "types"
    table.mkdir(parents=True, exist_ok=True)
    kinds.mkdir(parents=True, exist_ok=True)
    (table / entry).write_text(gid + "\n")
    if kind:
        (kinds / entry).write_text(kind + "\n")


def mapped(last: int) -> str:
    return f"0000:0000:0000:0000:0000:ffff:0a00:00{last:02x}"


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    add(tmp_path, "mlx5_0/1/0", "fe80:0000:0000:0000:5054:00ff:fe12:3456", "RoCE v2")
    add(tmp_path, "mlx5_0/1/2", mapped(1), "IB/RoCE v1")
    add(tmp_path, "mlx5_0/1/3", mapped(1), "RoCE v2")
    add(tmp_path, "mlx5_1/1/0", mapped(2), "RoCE v2")
    add(tmp_path, "mlx5_1/1/1", NONE, "")
    return tmp_path


@pytest.fixture
def dual(tmp_path: Path) -> Path:
    """A device with addresses of both versions, and one of IPv6 only."""
    add(tmp_path, "mlx5_0/1/0", LINK_LOCAL, "IB/RoCE v1")
    add(tmp_path, "mlx5_0/1/1", LINK_LOCAL, "RoCE v2")
    add(tmp_path, "mlx5_0/1/2", UNIQUE_LOCAL, "IB/RoCE v1")
    add(tmp_path, "mlx5_0/1/3", UNIQUE_LOCAL, "RoCE v2")
    add(tmp_path, "mlx5_0/1/4", mapped(1), "RoCE v2")
    add(tmp_path, "mlx5_1/1/0", LINK_LOCAL, "RoCE v2")
    add(tmp_path, "mlx5_1/1/1", GLOBAL, "RoCE v2")
    return tmp_path


def test_the_gid_of_an_address_is_the_rocev2_one_that_maps_it(devices: Path) -> None:
    assert gid_of("10.0.0.1", devices) == Gid("mlx5_0", 1, 3)
    assert gid_of("10.0.0.2", devices) == Gid("mlx5_1", 1, 0)


def test_an_address_without_a_gid_is_one_line_with_those_that_there_are(devices: Path) -> None:
    with pytest.raises(RdmaError, match=r"of 10\.0\.0\.9 \(seen: 10\.0\.0\.1, 10\.0\.0\.2\)"):
        gid_of("10.0.0.9", devices)


def test_devices_without_any_address_are_one_line(tmp_path: Path) -> None:
    add(tmp_path, "mlx5_0/1/0", NONE, "")
    with pytest.raises(RdmaError, match="none"):
        gid_of("10.0.0.9", tmp_path)


def test_a_machine_without_devices_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RdmaError, match="this machine has none"):
        gid_of("10.0.0.9", tmp_path)


# --- IPv6 ----------------------------------------------------------------------------------------


def test_the_gid_of_an_ipv6_address_is_the_rocev2_one_that_is_it(dual: Path) -> None:
    assert gid_of("fd00:0:0:1::1", dual) == Gid("mlx5_0", 1, 3)
    assert gid_of("2001:db8::7", dual) == Gid("mlx5_1", 1, 1)
    assert gid_of("10.0.0.1", dual) == Gid("mlx5_0", 1, 4)
    with pytest.raises(RdmaError, match=r"\(seen: 2001:db8::7\)"):
        gid_of("10.0.0.1", dual, "mlx5_1")


def test_a_link_local_gid_is_used_only_where_it_is_named_by_its_entry(dual: Path) -> None:
    with pytest.raises(RdmaError, match="name the GID with --rdma-gid"):
        gid_of("fe80::5054:ff:fe12:3456", dual)
    named = Gid("mlx5_1", 1, 0)
    assert address_of(named, dual) == "fe80::5054:ff:fe12:3456"
    assert own_gid("fe80::5054:ff:fe12:3456", named, dual) == named


def test_the_first_gid_is_of_ipv4_unless_the_device_or_the_caller_wants_ipv6(dual: Path) -> None:
    assert first_gid("mlx5_0", root=dual).entry == 4
    assert first_gid("mlx5_0", ipv6=True, root=dual).entry == 3
    assert first_gid("mlx5_1", root=dual).entry == 1
    with pytest.raises(RdmaError, match="mlx5_1 has no RoCEv2 GID of IPv4"):
        first_gid("mlx5_1", ipv6=False, root=dual)


def test_a_named_gid_must_be_of_rocev2_and_of_the_list_s_address(dual: Path) -> None:
    assert own_gid("fd00:0:0:1::1", Gid("mlx5_0", 1, 3), dual) == Gid("mlx5_0", 1, 3)
    with pytest.raises(RdmaError, match=r"has address 10\.0\.0\.1, and the list has fd00:0:0:1::1"):
        own_gid("fd00:0:0:1::1", Gid("mlx5_0", 1, 4), dual)
    with pytest.raises(RdmaError, match="is IB/RoCE v1, and not of RoCE v2"):
        own_gid("fd00:0:0:1::1", Gid("mlx5_0", 1, 2), dual)
    with pytest.raises(RdmaError, match="mlx5_0/1, GID 9 is empty"):
        own_gid("fd00:0:0:1::1", Gid("mlx5_0", 1, 9), dual)
