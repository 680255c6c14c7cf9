"""Which RDMA device has an address, as the kernel shows GIDs in /sys."""

from __future__ import annotations

from pathlib import Path

import pytest

from probers.rdma.devices import Gid, RdmaError, gid_of

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
