"""Which requests an agent accepts. No I/O, no clock.

The controller decides what is worth asking; the agent checks that it is about its own endpoints and
permitted targets, and within its own limits. Without a valid ping list it accepts none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from probers.net import addresses
from probers.net.addresses import Network
from probers.ping_list.document import PingList
from probers.requests.limits import RequestLimits
from schemas.documents.requests.request import SENDING, Request, Target

_FIRST_PORT: Final = 1024


class Own(NamedTuple):
    """What the agent is and serves now.

    document  the list in effect
    lost      the list could not be read for too long, or cannot be applied
    allowed   networks that may be probed
    part      it serves one layer or one container, and others of the host may serve the rest
    """

    node_sn: str
    document: PingList
    lost: bool
    allowed: Sequence[Network]
    listen_port: int
    part: bool = False


class Load(NamedTuple):
    """What the running requests take: number, packets a second, five-tuples."""

    requests: int = 0
    rate: float = 0.0
    five_tuples: int = 0


def of_sources(requests: Iterable[Request], endpoints: Collection[str]) -> list[Request]:
    """Requests that send packets, all of them from some endpoints (addresses)."""
    return [
        each
        for each in requests
        if each.kind in SENDING and all(target.src_ip in endpoints for target in each.targets)
    ]


def concerns(request: Request, own: Own) -> bool:
    """Whether this agent answers; where several serve a host, exactly one of them does.

    Facts about the host are for the agent that serves its rnics.
    """
    if not own.part:
        return True
    if request.kind not in SENDING:
        return any(each.layer == "underlay" for each in own.document.endpoints)
    endpoints = {each.ip for each in own.document.endpoints}
    return any(each.src_ip in endpoints for each in request.targets)


def refusal(request: Request, own: Own, load: Load, limits: RequestLimits) -> str | None:
    """Why the agent does not do it; None: it does."""
    fabric = own.document.fabric
    if (request.fabric, request.node_sn) != (fabric, own.node_sn):
        return f"it is for host {request.node_sn[:100]!r} of fabric {request.fabric[:100]!r}"
    if own.lost:
        return "the agent has no valid ping list, so it sends nothing"
    if load.requests >= limits.at_once:
        return f"{load.requests} requests run already"
    if request.kind not in SENDING:
        return None
    if load.rate + request.rate > limits.rate:
        return (
            f"{request.rate:g} packets/s beside {load.rate:g} of other requests are over "
            f"--request-rate {limits.rate:g}"
        )
    if load.five_tuples + request.five_tuples > limits.five_tuples:
        return f"over {limits.five_tuples} five-tuples of all requests"
    for target in request.targets:
        if (why := _target_refusal(request, target, own)) is not None:
            return why
    return None


def _target_refusal(request: Request, target: Target, own: Own) -> str | None:
    endpoints = {each.ip: each.layer for each in own.document.endpoints}
    if endpoints.get(target.src_ip) != target.layer:
        return f"{target.src_ip[:100]} is no {target.layer} endpoint of this agent"
    try:
        permitted = addresses.allowed(target.ip, own.allowed)
    except ValueError:
        return f"target {target.ip[:100]!r} is not an IP address"
    if not permitted:
        return f"target {target.ip} is outside --allow-cidr"
    if not 0 <= target.dscp <= 63:
        return f"dscp {target.dscp} is not 0..63"
    if request.kind == "traceroute" and target.layer == "overlay":
        return "inside the overlay a traceroute shows nothing of the fabric"
    for port in target.src_ports:
        reply = request.kind == "traceroute" and port == own.listen_port
        if not reply and (port < _FIRST_PORT or port == own.listen_port):
            return f"source port {port} is not for requests"
    return None
