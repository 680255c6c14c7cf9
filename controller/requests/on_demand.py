"""What an operator asks for -> a request to the agent of one host. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from controller.ping_lists.lists import PingLists
from controller.requests.parameters import DEFAULT, RequestParameters
from controller.requests.permission import forbidden, found, pairs
from schemas.documents.requests.request import Request, Target
from schemas.documents.times import rfc3339_of_ms
from schemas.limits import LIMITS


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """POST /api/v1/probes.

    source, target  names as of ``permission.found``
    fabric      may be left out where both names are of one fabric only
    count       probes of each five-tuple; interval_s: between two of them
    ports       five-tuples of each pair of endpoints; with one, the first of the ping list
    traceroute  trace each five-tuple once instead of probing it, spread over ``interval_s`` or as
                long as the host's rate needs
    """

    source: str
    target: str
    fabric: str = ""
    count: int = 5
    interval_s: float = 1.0
    ports: int = 1
    traceroute: bool = False


class Unknown(ValueError):
    """A name is of no endpoint; one line."""


class Forbidden(ValueError):
    """These endpoints may not probe each other, or not now; one line."""


def request_of(
    ask: Ask,
    fabrics: Mapping[str, PingLists],
    operator: str,
    request_id: str,
    now_ms: int,
    parameters: RequestParameters = DEFAULT,
) -> Request:
    """The request of what is asked; raises Unknown, Forbidden, and ValueError for other input."""
    fabric = _fabric(ask, fabrics)
    lists = fabrics[fabric]
    ours, theirs = found(lists, ask.source), found(lists, ask.target)
    both = pairs(ours, theirs)[: parameters.pairs]
    if not both:
        raise Forbidden(f"{ask.source} and {ask.target} are the same endpoint")
    for a, b in both:
        if (why := forbidden(lists, a, b)) is not None:
            raise Forbidden(why)
    if not 1 <= ask.ports * len(both) <= LIMITS.request_five_tuples:
        most = LIMITS.request_five_tuples // len(both)
        raise ValueError(f"ports {ask.ports} is not between 1 and {most}")
    targets = [msgspec.convert(lists.target(a, b, 0, ask.ports), Target) for a, b in both]
    interval_s, count = ask.interval_s, ask.count
    if ask.traceroute:
        if both[0][0].layer == "overlay":
            raise Forbidden("inside the overlay a traceroute shows nothing of the fabric")
        packets = ask.ports * len(both) * LIMITS.request_trace_packets
        interval_s, count = max(interval_s, 2 * packets / parameters.host_rate), 1
    lasts_s = interval_s * count + parameters.answer_s
    if not 0 < lasts_s <= LIMITS.request_s:
        raise ValueError(
            f"{count} probes {interval_s:g} s apart take {lasts_s:g} s; a request may last "
            f"{LIMITS.request_s:g} s"
        )
    return Request(
        request_id=request_id, kind="traceroute" if ask.traceroute else "probe",
        node_sn=both[0][0].node_sn, fabric=fabric, targets=targets,
        count=count, interval_s=interval_s,
        reason=f"{ask.source} to {ask.target}, on demand"[:200], operator=operator,
        asked_at=rfc3339_of_ms(now_ms),
        expires=rfc3339_of_ms(now_ms + round(1000 * lasts_s)),
    )  # fmt: skip


def _fabric(ask: Ask, fabrics: Mapping[str, PingLists]) -> str:
    """The one fabric that knows both names; raises Unknown."""
    if ask.fabric and ask.fabric not in fabrics:
        raise Unknown(f"no topology of fabric {ask.fabric[:100]!r} is published")
    asked = [ask.fabric] if ask.fabric else sorted(fabrics)
    for name in (ask.source, ask.target):
        if not any(found(fabrics[each], name) for each in asked):
            raise Unknown(
                f"no host, container or rnic {name[:100]!r} is known; give its name or address"
            )
    both = [
        each
        for each in asked
        if found(fabrics[each], ask.source) and found(fabrics[each], ask.target)
    ]
    if not both:
        raise Unknown(f"{ask.source} and {ask.target} are not of the same fabric")
    if len(both) > 1:
        raise Unknown(f"both names are of fabrics {', '.join(both)}; say which fabric")
    return both[0]
