"""Network interfaces as the kernel shows them to this process: addresses, bytes.

Asked through sockets, which belong to the process's own network namespace; /sys shows the namespace
in which it was mounted.
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Final

_SIOCGIFCONF: Final = 0x8912
_NAME_BYTES: Final = 16
_AF_INET_AT: Final = struct.Struct("=H2x4s")  # sockaddr_in: family, port, address
#: struct ifreq: a name and the largest member of its union, ifmap.
_REQUEST_BYTES: Final = _NAME_BYTES + struct.calcsize("LLHBBB0L")
_MAX_ADDRESSES: Final = 4096

_RTM_GETSTATS, _RTM_NEWSTATS, _NLM_F_REQUEST = 94, 92, 1
_HEADER: Final = struct.Struct("=IHHII")  # length, type, flags, sequence number, port
_STATS: Final = struct.Struct("=BBHII")  # family, padding, padding, interface, filter
_LINK_64: Final = 1  # IFLA_STATS_LINK_64, and its bit in the filter
_COUNTERS: Final = struct.Struct("=4Q")  # rtnl_link_stats64: rx packets, tx packets, rx, tx bytes
_ATTRIBUTE_BYTES: Final = 4
_ERROR: Final = struct.Struct("=i")
_MAX_ANSWER_BYTES: Final = 4096
_TIMEOUT_S: Final = 1.0
_IF_INET6: Final = Path("/proc/net/if_inet6")


def by_address() -> dict[str, str]:
    """IPv4 or IPv6 address -> name of the interface that has it; raises OSError."""
    room = array.array("B", bytes(_MAX_ADDRESSES * _REQUEST_BYTES))
    start, _ = room.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        answer = fcntl.ioctl(asked, _SIOCGIFCONF, struct.pack("iP", len(room), start))
    (used, _) = struct.unpack("iP", answer)
    raw, found = room.tobytes(), {}
    for at in range(0, used, _REQUEST_BYTES):
        label = raw[at : at + _NAME_BYTES].partition(b"\0")[0].decode(errors="replace")
        family, address = _AF_INET_AT.unpack_from(raw, at + _NAME_BYTES)
        if family == socket.AF_INET:
            found[socket.inet_ntoa(address)] = label.partition(":")[0]  # an alias: eth0:1
    try:
        listed = _IF_INET6.read_text()
    except OSError:  # a kernel without IPv6
        return found
    return found | interfaces_6(listed)


def interfaces_6(listed: str) -> dict[str, str]:
    """IPv6 address -> interface, from the lines of /proc/net/if_inet6: address in hexadecimal,
    index, length of the prefix, scope, flags, name."""
    rows = (line.split() for line in listed.splitlines())
    return {
        socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0])): row[-1]
        for row in rows
        if len(row) == 6
    }


def indexes() -> dict[str, int]:
    """Name of each interface -> its index."""
    return {name: index for index, name in socket.if_nameindex()}


def byte_counts(index: int) -> tuple[int, int]:
    """Bytes that the interface of this index has sent and received, counted in 64 bits by the
    kernel; raises OSError."""
    length = _HEADER.size + _STATS.size
    request = _HEADER.pack(length, _RTM_GETSTATS, _NLM_F_REQUEST, 1, 0)
    request += _STATS.pack(0, 0, 0, index, _LINK_64)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as asked:
        asked.settimeout(_TIMEOUT_S)
        asked.send(request)
        answer = asked.recv(_MAX_ANSWER_BYTES)
    if _HEADER.unpack_from(answer)[1] != _RTM_NEWSTATS:
        code = -_ERROR.unpack_from(answer, _HEADER.size)[0]
        raise OSError(code, os.strerror(code))
    _, _, received, sent = _COUNTERS.unpack_from(answer, length + _ATTRIBUTE_BYTES)
    return sent, received
