"""The ping list of one agent: a JSON document, checked as a whole when it is read.

    {"version": 1, "fabric": "f1", "node_sn": "host-0", "interval_s": 1.0,
     "endpoints": [{"ip", "real_ip", "node_id", "asw", "dsw", "pod", "tenant_id", "layer",
                    "device", "in_job"}],
     "targets":   [{"src_ip", "ip", "port", "real_ip", "node_id", "node_sn", "asw", "dsw", "pod",
                    "tenant_id", "layer", "src_ports", "dscp", "agent"}]}

Addresses are of IPv4 or IPv6, in their canonical spelling. ``agent`` false: no agent answers there,
so only engines whose probes a kernel answers (TCP, ICMP) probe the target. ``interval_s`` is the
time between two probes of one five-tuple. Only ip, real_ip, layer and the targets' src_ip, node_sn
and src_ports are required; unknown fields are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from probers.net import addresses
from probers.net.addresses import Network
from schemas.addresses import canonical

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_FIVE_TUPLES: Final = 65_536
RESPONDER_PORT: Final = 65300
_MIN_INTERVAL_S: Final = 0.01

Layer = Literal["overlay", "underlay"]


class PingListError(ValueError):
    """The document is not a ping list for this agent; one line: where, what, what to do."""


class Endpoint(msgspec.Struct, frozen=True):
    """An address of this agent.

    device  binds its sockets to one network interface
    in_job  an rnic that a job uses by the host's own address: its throughput is wanted
    """

    ip: str
    real_ip: str
    layer: Layer
    node_id: str = ""
    asw: str = ""
    dsw: str = ""
    pod: str = ""
    tenant_id: str = ""
    device: str = ""
    in_job: bool = False


class Target(msgspec.Struct, frozen=True):
    """A peer of the endpoint ``src_ip``: one five-tuple per source port."""

    src_ip: str
    ip: str
    real_ip: str
    node_sn: str
    layer: Layer
    src_ports: list[int]
    port: int = RESPONDER_PORT
    dscp: int = 0
    agent: bool = True
    node_id: str = ""
    asw: str = ""
    dsw: str = ""
    pod: str = ""
    tenant_id: str = ""


class PingList(msgspec.Struct, frozen=True):
    """The endpoints that one agent serves and the targets that it probes."""

    node_sn: str
    version: int = 1
    fabric: str = "default"
    interval_s: float | None = None
    endpoints: list[Endpoint] = []
    targets: list[Target] = []


class JobRnics(NamedTuple):
    """Addresses of a host's rnics that jobs use, sorted, and their fabric."""

    fabric: str = "default"
    addresses: tuple[str, ...] = ()


_decoder = msgspec.json.Decoder(PingList)


def parse(raw: bytes, where: str) -> PingList:
    """Read and check a document; raises PingListError with one line."""
    if len(raw) > MAX_BYTES:
        raise PingListError(f"{where}: over {MAX_BYTES} bytes; split the host's targets")
    try:
        document = _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
        raise PingListError(
            f"{where}: {why}; give a ping list as the controller writes it"
        ) from why
    _check(document, where)
    return document


def check_owner(document: PingList, where: str, node_sn: str, fabric: str | None) -> None:
    """Raise PingListError when the document is meant for another agent."""
    if document.node_sn != node_sn:
        raise PingListError(
            f"{where}: is for node_sn {document.node_sn!r} but this agent is {node_sn!r}; "
            "give its own list or another --node-sn"
        )
    if fabric is not None and document.fabric != fabric:
        raise PingListError(
            f"{where}: is for fabric {document.fabric!r} but this agent is in {fabric!r}; "
            "give its own list or another --fabric"
        )


def restrict(document: PingList, *, layer: Layer | None, node_id: str | None) -> PingList:
    """The part of a host's document for an agent that serves one layer or one container."""
    endpoints = [
        own
        for own in document.endpoints
        if layer in (None, own.layer) and node_id in (None, own.node_id)
    ]
    sources = {own.ip for own in endpoints}
    targets = [target for target in document.targets if target.src_ip in sources]
    return msgspec.structs.replace(document, endpoints=endpoints, targets=targets)


def job_rnics(document: PingList) -> JobRnics:
    """Those behind the containers of a host's whole document, and those of jobs on whole hosts."""
    used = {
        own.real_ip
        for own in document.endpoints
        if own.in_job or (own.layer == "overlay" and own.node_id)
    }
    return JobRnics(document.fabric, tuple(sorted(used)))


def containers(document: PingList) -> frozenset[str]:
    """node_ids of the containers of a host's whole document."""
    return frozenset(own.node_id for own in document.endpoints if own.layer == "overlay") - {""}


def split_by_permission(
    targets: Iterable[Target], allowed: Sequence[Network]
) -> tuple[list[Target], list[Target]]:
    """The targets inside and outside the networks that this agent may probe."""
    inside: list[Target] = []
    outside: list[Target] = []
    for target in targets:
        (inside if addresses.allowed(target.ip, allowed) else outside).append(target)
    return inside, outside


def _check(document: PingList, where: str) -> None:
    def fail(what: str) -> None:
        raise PingListError(f"{where}: {what}")

    def address(text: str, what: str) -> None:
        try:
            spelling = canonical(text)
        except ValueError:
            fail(f"{what} {text!r} is not an IP address; name resolution is not done here")
        if text != spelling:  # it is a name of a component
            fail(f"{what} {text!r} is {spelling} in its canonical spelling; write that")

    if document.version != 1:
        fail(f"version {document.version} is not known; this release reads version 1")
    if not document.node_sn:
        fail("node_sn is empty; name the host")
    interval_s = document.interval_s
    if interval_s is not None and not _MIN_INTERVAL_S <= interval_s <= 3600:
        fail(f"interval_s {interval_s} is not between {_MIN_INTERVAL_S} and 3600 seconds")
    own: set[str] = set()
    for index, endpoint in enumerate(document.endpoints):
        address(endpoint.ip, f"endpoints[{index}].ip")
        address(endpoint.real_ip, f"endpoints[{index}].real_ip")
        if endpoint.ip in own:
            fail(f"endpoints[{index}].ip {endpoint.ip} appears twice; merge the entries")
        own.add(endpoint.ip)
    five_tuples = 0
    for index, target in enumerate(document.targets):
        place = f"targets[{index}]"
        address(target.ip, f"{place}.ip")
        address(target.real_ip, f"{place}.real_ip")
        if target.src_ip not in own:
            fail(f"{place}.src_ip {target.src_ip!r} is none of endpoints; add it there")
        if addresses.family_of(target.src_ip) != addresses.family_of(target.ip):
            fail(f"{place}: {target.src_ip} cannot reach {target.ip}; give ends of one IP version")
        if not target.node_sn:
            fail(f"{place}.node_sn is empty; name the target's host")
        if not 0 <= target.dscp <= 63:
            fail(f"{place}.dscp {target.dscp} is not 0..63")
        if not 1 <= target.port <= 65535:
            fail(f"{place}.port {target.port} is not a port (1..65535)")
        if not target.src_ports or len(set(target.src_ports)) != len(target.src_ports):
            fail(f"{place}.src_ports is empty or names a port twice; give 1 or more distinct ports")
        for port in target.src_ports:
            if not 1024 <= port <= 65535:
                fail(f"{place}.src_ports: {port} is not an unprivileged port (1024..65535)")
        five_tuples += len(target.src_ports)
    if five_tuples > MAX_FIVE_TUPLES:
        fail(f"{five_tuples} five-tuples are more than {MAX_FIVE_TUPLES}; give fewer targets")
