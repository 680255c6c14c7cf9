"""Statistics that a driver counts beyond those in /sys, as ``ethtool -S`` prints them.

Some facts about a cable are nowhere else: mlx5 counts damaged frames (rx_crc_errors_phy) and the
times that a link went down (link_down_events_phy) only here. Every user may read them.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from typing import Final

_SIOCETHTOOL: Final = 0x8946
_COUNT, _STRINGS, _STATS = 0x37, 0x1B, 0x1D  # ETHTOOL_GSSET_INFO, GSTRINGS, GSTATS
_SET: Final = 1  # ETH_SS_STATS
_NAME_BYTES: Final = 32
_MOST: Final = 8192  # statistics of one interface


def statistics(interface: str) -> dict[str, int]:
    """Name -> count; raises OSError where the driver has none, or there is no such interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        # struct ethtool_sset_info: command, reserved, mask of sets, their sizes
        found = _ask(asked, interface, struct.pack("=IIQI", _COUNT, 0, 1 << _SET, 0))
        _, _, mask, count = struct.unpack_from("=IIQI", found)
        if not mask or not 0 < count <= _MOST:
            return {}
        head = struct.pack("=III", _STRINGS, _SET, count)
        names = _ask(asked, interface, head + bytes(count * _NAME_BYTES))[len(head) :]
        head = struct.pack("=II", _STATS, count)
        values = _ask(asked, interface, head + bytes(8 * count))[len(head) :]
    return {
        names[at * _NAME_BYTES :][:_NAME_BYTES].partition(b"\0")[0].decode("ascii", "replace"): each
        for at, (each,) in enumerate(struct.iter_unpack("=Q", values))
    }


def _ask(asked: socket.socket, interface: str, question: bytes) -> bytes:
    """The kernel's answer, written over the question."""
    room = array.array("B", question)
    start, _ = room.buffer_info()
    request = struct.pack("16sP16x", interface.encode()[:15], start)
    fcntl.ioctl(asked, _SIOCETHTOOL, request)
    return room.tobytes()
