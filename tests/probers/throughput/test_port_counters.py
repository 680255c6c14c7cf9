"""Which counters are those of an rnic, and what they say."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from probers.throughput import interfaces
from probers.throughput.port_counters import (
    LOOK_UP_S,
    RETRY_S,
    Kind,
    PortCounters,
    Unreadable,
)

LOOPBACK = "127.0.0.1"


class Sysfs:
    """A tree as that of the kernel, with the loopback interface of this machine as an rnic."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for index, name in socket.if_nameindex():
            self.write(f"class/net/{name}/ifindex", index)
            self.write(f"class/net/{name}/dev_port", 0)

    def write(self, path: str, content: object) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n")

    def add_port(self, device: str, *, sent_words: int, received_words: int) -> None:
        counters = f"class/infiniband/{device}/ports/1/counters"
        self.write(f"{counters}/port_xmit_data", sent_words)
        self.write(f"{counters}/port_rcv_data", received_words)

    def put_behind_loopback(self, device: str) -> None:
        """As of a PCI function with an interface and an RDMA device."""
        (self.root / "class/net/lo/device/infiniband" / device).mkdir(parents=True)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    return Sysfs(tmp_path)


def counters(sysfs: Sysfs, kind: Kind = "auto", **given: str) -> PortCounters:
    return PortCounters(kind, {LOOPBACK: given["source"]} if given else None, sysfs=sysfs.root)


def test_words_of_the_rdma_port_of_the_address_are_bytes(sysfs: Sysfs) -> None:
    sysfs.add_port("mlx5_0", sent_words=1_000, received_words=2)
    sysfs.put_behind_loopback("mlx5_0")
    assert counters(sysfs).read(LOOPBACK) == ("rdma:mlx5_0/1", 4_000, 8)


def test_the_port_of_a_bond_is_found_by_its_gid(sysfs: Sysfs) -> None:
    sysfs.add_port("mlx5_1", sent_words=9, received_words=9)
    sysfs.add_port("mlx5_bond_0", sent_words=1, received_words=2)
    sysfs.write("class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0", "ens1")
    sysfs.write("class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "lo")
    assert counters(sysfs).read(LOOPBACK) == ("rdma:mlx5_bond_0/1", 4, 8)


def test_without_an_rdma_port_or_where_it_counts_nothing_the_interface_counts(
    sysfs: Sysfs,
) -> None:
    for made in range(2):
        if made:  # as soft-RoCE: a port without counters
            (sysfs.root / "class/infiniband/rxe0/ports/1").mkdir(parents=True)
            sysfs.put_behind_loopback("rxe0")
        before = counters(sysfs).read(LOOPBACK)
        assert before.source.startswith("net:lo#")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(bytes(1_000), (LOOPBACK, 9))
        after = counters(sysfs).read(LOOPBACK)
        assert after.tx >= before.tx + 1_000
        assert after.rx >= before.rx + 1_000


def test_the_kind_that_was_asked_for_is_read_or_nothing(sysfs: Sysfs) -> None:
    with pytest.raises(Unreadable, match="lo has no RDMA port; give --throughput auto or net"):
        counters(sysfs, "rdma").read(LOOPBACK)
    sysfs.add_port("mlx5_0", sent_words=1, received_words=1)
    sysfs.put_behind_loopback("mlx5_0")
    assert counters(sysfs, "net").read(LOOPBACK).source.startswith("net:lo#")


@pytest.mark.parametrize("of", ["class/net/lo", "class/net/lo/lower_ens1"])
def test_an_uplink_of_an_offloaded_switch_counts_the_whole_port(sysfs: Sysfs, of: str) -> None:
    sysfs.add_port("mlx5_0", sent_words=1, received_words=1)
    sysfs.put_behind_loopback("mlx5_0")
    sysfs.write(f"{of}/phys_switch_id", "8c5e0a00b1d2")
    found = counters(sysfs)
    assert not found.prepare([LOOPBACK]), "nothing is known before the first reading"
    assert found.read(LOOPBACK).source.startswith("net:lo#")
    assert found.prepare([LOOPBACK]), "its counters are those of its last reading"
    assert counters(sysfs, "rdma").read(LOOPBACK).source == "rdma:mlx5_0/1"


def test_an_rdma_port_with_virtual_functions_is_doubted(sysfs: Sysfs) -> None:
    sysfs.add_port("mlx5_0", sent_words=1, received_words=1)
    sysfs.put_behind_loopback("mlx5_0")
    for functions, doubted in ((0, False), (8, True)):
        sysfs.write("class/net/lo/device/sriov_numvfs", functions)
        found = counters(sysfs)
        found.read(LOOPBACK)
        assert ("its 8 virtual functions" in found.doubt(LOOPBACK)) == doubted
    given = counters(sysfs, source="rdma:mlx5_0/1")
    given.read(LOOPBACK)
    assert given.doubt(LOOPBACK) == "", "the operator knows"


def test_a_source_that_was_given_is_read_whatever_the_address_says(sysfs: Sysfs) -> None:
    sysfs.add_port("mlx5_7", sent_words=3, received_words=4)
    assert counters(sysfs, source="rdma:mlx5_7/1").read(LOOPBACK) == ("rdma:mlx5_7/1", 12, 16)
    assert counters(sysfs, source="net:lo").read(LOOPBACK).source.startswith("net:lo#")
    with pytest.raises(Unreadable):
        counters(sysfs, source="net:gone0").read(LOOPBACK)


def test_devices_of_another_network_namespace_are_not_read(sysfs: Sysfs) -> None:
    sysfs.add_port("mlx5_0", sent_words=1, received_words=1)
    sysfs.put_behind_loopback("mlx5_0")
    sysfs.write("class/net/lo/ifindex", 4711)
    assert counters(sysfs).read(LOOPBACK).source.startswith("net:lo#")


def test_a_counter_of_32_bits_that_is_full_is_unreadable(sysfs: Sysfs) -> None:
    sysfs.add_port("mlx5_0", sent_words=2**32 - 1, received_words=1)
    sysfs.put_behind_loopback("mlx5_0")
    with pytest.raises(Unreadable, match="of 32 bits and full"):
        counters(sysfs).read(LOOPBACK)


def test_what_cannot_be_read_is_looked_up_again_after_a_while(sysfs: Sysfs) -> None:
    clock = Clock()
    read = PortCounters("rdma", sysfs=sysfs.root, clock=clock).read
    with pytest.raises(Unreadable):
        read(LOOPBACK)
    sysfs.add_port("mlx5_0", sent_words=1, received_words=1)
    sysfs.put_behind_loopback("mlx5_0")
    clock.now += RETRY_S / 2
    with pytest.raises(Unreadable):
        read(LOOPBACK)
    clock.now += RETRY_S / 2
    assert read(LOOPBACK).source == "rdma:mlx5_0/1"
    sysfs.write("class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "nonsense")
    with pytest.raises(Unreadable, match="invalid literal"):
        read(LOOPBACK)


def test_addresses_are_looked_up_again_since_they_may_move(sysfs: Sysfs) -> None:
    clock = Clock()
    read = PortCounters(sysfs=sysfs.root, clock=clock).read
    assert read(LOOPBACK).source.startswith("net:lo#")
    sysfs.add_port("mlx5_0", sent_words=1, received_words=1)
    sysfs.put_behind_loopback("mlx5_0")
    clock.now += LOOK_UP_S
    assert read(LOOPBACK).source == "rdma:mlx5_0/1"


def test_an_address_that_is_not_here_is_one_clear_line(sysfs: Sysfs) -> None:
    with pytest.raises(Unreadable, match=r"^no interface here has this address$"):
        counters(sysfs).read("192.0.2.1")


def test_interfaces_are_those_of_this_process() -> None:
    assert interfaces.by_address()[LOOPBACK] == "lo"
    with pytest.raises(OSError, match="No such device"):
        interfaces.byte_counts(2**31 - 1)
    assert min(interfaces.byte_counts(socket.if_nametoindex("lo"))) > 0
