"""The endpoints that the agent is to serve: their interfaces, sockets, RDMA devices."""

from __future__ import annotations

import errno
import os
import selectors
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from probers.doctor.finding import Finding
from probers.net.udp_socket import UdpSocket
from probers.ping_list.document import Endpoint
from probers.rdma import devices
from probers.rdma.devices import RdmaError
from probers.rdma.scheduled.rnic import RdmaOptions

SYS: Final = Path("/sys/class")
_LEAST_MTU: Final = 1280
_LOCAL_S: Final = 1.0


def interfaces(
    endpoints: list[Endpoint], names: Mapping[str, str], root: Path = SYS
) -> Iterator[Finding]:
    """Whether each endpoint is an address of this host, on an interface that is up.

    names  address -> interface, as ``probers.throughput.interfaces.by_address``
    """
    for ip in dict.fromkeys(each.ip for each in endpoints):
        name = names.get(ip)
        if name is None and not ip_address(ip).is_loopback:
            yield Finding(
                "error", "endpoint", f"{ip} is not an address of this host",
                "give it to the rnic, or correct the list or inventory",
            )  # fmt: skip
        elif name is not None:
            yield _interface(ip, name, root / "net" / name)


def _interface(ip: str, name: str, folder: Path) -> Finding:
    state, mtu = _read(folder / "operstate"), _read(folder / "mtu")
    if state not in ("up", "unknown", ""):  # unknown: the driver does not say, as of lo
        return Finding("error", "endpoint", f"{ip}: {name} is {state}", f"ip link set {name} up")
    if mtu.isdigit() and int(mtu) < _LEAST_MTU:
        return Finding("warning", "endpoint", f"{ip}: {name} has MTU {mtu}",
                       f"traceroutes and RDMA need {_LEAST_MTU}")  # fmt: skip
    return Finding("ok", "endpoint", f"{ip} on {name}, MTU {mtu or 'unknown'}")


def sockets(endpoints: list[Endpoint], port: int) -> Iterator[Finding]:
    """Whether the agent can listen on each endpoint, hear itself there, and has the kernel's time
    stamps.

    port  of the responder
    """
    stamps = True
    for ip in dict.fromkeys(each.ip for each in endpoints):
        try:
            listening = UdpSocket(ip, port)
        except OSError as why:
            if why.errno == errno.EADDRINUSE:
                yield Finding("ok", "responder", f"{ip}:{port} is in use, by an agent it seems")
            elif why.errno != errno.EADDRNOTAVAIL:  # which ``interfaces`` has said
                yield Finding("error", "responder", f"{ip}:{port}: {os.strerror(why.errno or 0)}",
                              "run as a user who may open it, or give --listen-port")  # fmt: skip
            continue
        stamps &= listening.has_send_timestamps
        try:
            yield _hears_itself(listening)
        finally:
            listening.close()
    if not stamps:
        yield Finding("warning", "timestamps", "the kernel gives none of sent packets",
                      "round trips hold the agent's own delay; use a newer Linux")  # fmt: skip


def _hears_itself(listening: UdpSocket) -> Finding:
    ip, port = listening.address
    asking = UdpSocket(ip, 0)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(listening, selectors.EVENT_READ)
            asking.send(b"skeletonhunter-agent doctor", listening.address)
            heard = bool(selector.select(_LOCAL_S))
    except OSError as why:
        return Finding("error", "responder", f"{ip}:{port}: cannot send: {why.strerror}",
                       "look at the host's firewall and routes")  # fmt: skip
    finally:
        asking.close()
    if heard:
        return Finding("ok", "responder", f"{ip}:{port}")
    return Finding("error", "responder", f"{ip}:{port}: a datagram to itself does not arrive",
                   f"let the host's firewall pass UDP port {port}")  # fmt: skip


def rdma(root: Path = SYS) -> Iterator[Finding]:
    """The host's RDMA ports, as the kernel shows them."""
    ports = sorted(root.glob("infiniband/*/ports/*"))
    for port in ports:
        name = f"{port.parts[-3]}/{port.name}"
        state = _read(port / "state")
        gids = sum(
            _read(each) not in ("", "0000:0000:0000:0000:0000:0000:0000:0000")
            for each in (port / "gids").glob("*")
        )
        if "ACTIVE" not in state:
            yield Finding("error", "rdma", f"{name} is {state or 'without a state'}",
                          "look at cable and switch port")  # fmt: skip
        elif not gids:
            yield Finding("error", "rdma", f"{name} has no GID",
                          "give its network interface an address")  # fmt: skip
        else:
            yield Finding("ok", "rdma", f"{name} is active, {gids} GIDs")
    if not ports:
        yield Finding("ok", "rdma", "no device: probes are UDP_PING")


def rdma_engine(endpoints: list[Endpoint], options: RdmaOptions, root: Path) -> Iterator[Finding]:
    """Whether the agent can use the RDMA devices of its underlay endpoints.

    root  of the devices, as /sys/class/infiniband
    """
    try:
        devices.pyverbs("device")
    except RdmaError as why:
        yield Finding("error", "rdma", str(why))
        return
    for ip in dict.fromkeys(each.ip for each in endpoints if each.layer == "underlay"):
        try:
            gid = devices.own_gid(ip, options.gids.get(ip), root)
        except RdmaError as why:
            yield Finding("error", "rdma", str(why))
        else:
            yield Finding("ok", "rdma", f"{ip} on {gid}: {options.queue_pairs} queue pairs")


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:  # not of this driver
        return ""
