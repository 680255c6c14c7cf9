"""Delays, duplicates or corrupts the frames that leave an interface; runs inside one namespace.

It stands in for netem, which not every kernel has. nft forwards the frames in question, where they
leave an interface, to a tap device (``fwd to``). This process reads them from the tap and sends
them out of the same interface later, with a mark that the nft rule accepts. The virtio header
carries offloaded checksums and segments, so that TCP and VXLAN keep working. When the process ends,
the device disappears, and the frames are lost.

    python -m testbed.netns.faults.packet_shaper '{"devices": {"nic0": "wf1x0"}, "time_us": 3000}'
"""

from __future__ import annotations

import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

MARK: Final = 0x5CA7
_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_TAP, _NO_PI, _VNET_HDR = 0x0002, 0x1000, 0x4000
_OFFLOADS = 0x01 | 0x02 | 0x04  # checksum, TSO over IPv4 and IPv6
_SOL_PACKET, _PACKET_VNET_HDR, _SO_MARK = 263, 15, 36
_HEADERS: Final = 10 + 14 + 20  # virtio, Ethernet, IPv4
_LARGEST: Final = 70_000

Frame = bytes


class Side:
    """An interface: frames are read from its tap and sent out of the interface."""

    def __init__(self, device: str, tap: str) -> None:
        self.tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        flags = _TAP | _NO_PI | _VNET_HDR
        fcntl.ioctl(self.tap, _TUNSETIFF, struct.pack("16sH22x", tap.encode(), flags))
        fcntl.ioctl(self.tap, _TUNSETOFFLOAD, _OFFLOADS)
        subprocess.run(["ip", "link", "set", tap, "up"], check=True)  # noqa: S603, S607  # fixed list
        self._out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._out.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
        self._out.setsockopt(socket.SOL_SOCKET, _SO_MARK, MARK)
        self._out.bind((device, 0))

    def read(self) -> list[Frame]:
        """All frames that are waiting."""
        frames = []
        try:
            while True:
                frames.append(os.read(self.tap, _LARGEST))
        except BlockingIOError:
            return frames

    def send(self, frame: Frame) -> None:
        """Send a frame; it is lost where the interface refuses it, as one that is down does."""
        try:
            self._out.send(frame)
        except OSError:
            return


def corrupted(frame: Frame, random_below: Callable[[int], int]) -> Frame:
    """The frame with one payload bit flipped, and without the mark that its checksum is valid."""
    broken = bytearray(frame)
    if len(broken) > _HEADERS:
        # Not before the transport header: a corrupted address would be another fault.
        place = _HEADERS + random_below(len(broken) - _HEADERS)
        broken[place] ^= 1 << random_below(8)
    broken[:10] = bytes(10)
    return bytes(broken)


def within(frame: Frame, addresses: frozenset[bytes]) -> bool:
    """Whether a frame goes from one of these IPv4 addresses to another."""
    at = _HEADERS - 8
    return frame[at : at + 4] in addresses and frame[at + 4 : at + 8] in addresses


def is_late(passed_s: float, period_s: float) -> bool:
    """Whether frames are delayed now: in the first half of each period; 0: always."""
    return not period_s or passed_s % period_s < period_s / 2


def run(
    devices: dict[str, str],
    *,
    time_us: float,
    offset_us: float,
    period_s: float,
    others: float,
    inside: frozenset[bytes],
    copies: int,
    corrupt: bool,
) -> None:
    """Serve until killed.

    devices  interface -> tap
    others   share of the delay of frames that are not between addresses of ``inside``
    copies   how often each frame is sent
    """
    chance = random.Random()  # noqa: S311  # guards nothing
    sides = {side.tap: side for side in (Side(*names) for names in devices.items())}
    poll = select.poll()
    for tap in sides:
        poll.register(tap, select.POLLIN)
    waiting: list[tuple[float, int, Side, Frame]] = []
    number, began = 0, time.monotonic()
    print("ready", flush=True)
    while True:
        left_ms = max(0.0, (waiting[0][0] - time.monotonic()) * 1e3) if waiting else None
        for tap, _ in poll.poll(left_ms):
            side = sides[tap]
            now = time.monotonic()
            slow_us = time_us if is_late(now - began, period_s) else 0.0
            for frame in side.read():
                own_us = slow_us if others == 1.0 or within(frame, inside) else slow_us * others
                late_us = own_us + chance.uniform(-offset_us, offset_us)
                what = corrupted(frame, chance.randrange) if corrupt else frame
                for _ in range(copies):
                    number += 1
                    heapq.heappush(waiting, (now + max(0.0, late_us) / 1e6, number, side, what))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, side, frame = heapq.heappop(waiting)
            side.send(frame)


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    run(
        options["devices"],
        time_us=options.get("time_us", 0.0),
        offset_us=options.get("offset_us", 0.0),
        period_s=options.get("period_s", 0.0),
        others=options.get("others", 1.0),
        inside=frozenset(map(socket.inet_aton, options.get("inside", ()))),
        copies=options.get("copies", 1),
        corrupt=options.get("corrupt", False),
    )
