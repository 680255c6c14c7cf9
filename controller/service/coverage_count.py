"""Counts coverage in a process of its own, of low priority: requests must not wait for it.

``python -m controller.service.coverage_count`` reads a ``Lists`` and writes a ``Coverage``, both in
MessagePack.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator

import msgspec
import numpy as np

from controller.coverage.crossings import Probed
from controller.coverage.power import Naming
from controller.coverage.report import Coverage, report
from controller.ping_lists.lists import PingLists
from controller.service.parameters import DEFAULT
from schemas.documents.topology import Topology


class Lists(msgspec.Struct, frozen=True):
    """The lists of a fabric, without names that repeat.

    hosts      node_sn, and the time between two probes of a five-tuple [s]
    lengths    entries of each host
    endpoints  address, underlay address and layer of each
    source, target, ports  of each entry, int32: indices of endpoints, and source ports [count]
    """

    topology: Topology
    naming: Naming
    hosts: list[tuple[str, float]]
    lengths: list[int]
    endpoints: list[tuple[str, str, str]]
    source: bytes
    target: bytes
    ports: bytes

    def report(self) -> Coverage:
        """What they cross."""
        return report(self.topology, self.entries(), self.naming)

    def entries(self) -> Iterator[Probed]:
        """The entries as ``crossings`` takes them."""
        columns = (np.frombuffer(each, np.int32) for each in (self.source, self.target, self.ports))
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for (node_sn, interval_s), length in zip(self.hosts, self.lengths, strict=True):
            for _ in range(length):
                source, target, ports = next(rows)
                src_ip, src_rnic, _ = self.endpoints[source]
                dst_ip, dst_rnic, layer = self.endpoints[target]
                yield Probed(
                    node_sn, src_rnic, dst_rnic, src_ip, dst_ip, range(ports), 0, layer, interval_s
                )


async def gathered(topology: Topology, lists: PingLists, naming: Naming) -> Lists:
    """The lists of now; requests are answered between two hosts."""
    number: dict[str, int] = {}
    endpoints: list[tuple[str, str, str]] = []
    hosts, lengths = [], []
    columns: list[list[int]] = [[], [], []]
    for node_sn in lists.hosts:
        before = len(columns[0])
        for source, target, ports in lists.probed(node_sn):
            for column, each in zip(columns, (source, target), strict=False):
                at = number.setdefault(each.ip, len(number))
                if at == len(endpoints):
                    endpoints.append((each.ip, each.real_ip, each.layer))
                column.append(at)
            columns[2].append(ports)
        hosts.append((node_sn, lists.interval_s(node_sn)))
        lengths.append(len(columns[0]) - before)
        await asyncio.sleep(0)
    packed = (np.array(column, np.int32).tobytes() for column in columns)
    return Lists(topology, naming, hosts, lengths, endpoints, *packed)


async def counted(lists: Lists) -> Coverage:
    """What the lists cross; raises RuntimeError when the process fails."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", __name__,  # never a module of the current folder
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        found, _ = await child.communicate(msgspec.msgpack.encode(lists))
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise RuntimeError(f"the process that counts ended with {child.returncode}")
    return msgspec.msgpack.decode(found, type=Coverage)


def main() -> None:
    """Count, from stdin to stdout."""
    os.nice(DEFAULT.cover_nice)
    lists = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Lists)
    sys.stdout.buffer.write(msgspec.msgpack.encode(lists.report()))


if __name__ == "__main__":
    main()
