"""Anomalous five-tuples -> requests that look at them more closely, incident or not. No I/O.

A suspect is a five-tuple of the present lists of which the localizer has published an anomaly. It
is probed densely for half a minute, and its route and that of its replies are traced; then it is
left alone for a while. So each ends by itself, and all of a fabric have a budget of packets.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from typing import Final

import msgspec

from controller.feedback.choice import Ground
from controller.requests.open_requests import Room
from controller.requests.parameters import DEFAULT as REQUESTS
from schemas.documents.incident import Anomaly
from schemas.documents.requests.request import Kind, Request, Target
from schemas.documents.times import milliseconds_of, rfc3339_of_ms
from schemas.parameters.parameter import parameter

#: Source and target address, source and target port.
FiveTuple = tuple[str, str, int, int]
_PREFIX: Final = "suspect."
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class SuspectParameters:
    """lasts_s, interval_s  of dense probing, and between two probes
    together      five-tuples of a fabric that are looked at at once
    fresh_s       an anomaly whose window ended longer ago is left out
    again_s       a five-tuple is not looked at again for so long
    hour_packets  of a fabric, in any 3,600 s
    kept          suspects that wait, at most
    """

    lasts_s: float = parameter(30.0, unit="s", source="chosen: a window of the localizer")
    interval_s: float = parameter(0.5, unit="s", source="chosen: as the rounds of incidents")
    together: int = parameter(
        8, unit="five-tuples", source="chosen: 16 probes/s beside traceroutes, of one host at worst"
    )
    fresh_s: float = parameter(
        120.0, unit="s", source="chosen: four windows of the localizer; what was then has ended"
    )
    again_s: float = parameter(
        900.0, unit="s", source="chosen: as the incidents that nothing splits"
    )
    hour_packets: int = parameter(
        20_000, unit="packets", source="chosen: a tenth of what incidents may have"
    )
    kept: int = parameter(1024, unit="five-tuples", source="chosen: what two hours could look at")


DEFAULT: Final = SuspectParameters()


class Suspects:
    """counts  of anomalies, by outcome: asked; known (looked at lately, or waits already); stale;
    unlisted (no list holds the five-tuple now); left_out (too many wait)
    """

    def __init__(self, parameters: SuspectParameters = DEFAULT) -> None:
        self._parameters = parameters
        self._waiting: defaultdict[str, dict[FiveTuple, int]] = defaultdict(dict)
        self._asked: dict[tuple[str, FiveTuple], int] = {}  # when [ms since the epoch]
        self._recent: defaultdict[str, deque[tuple[int, int]]] = defaultdict(deque)
        self.counts: Counter[str] = Counter(asked=0, known=0, stale=0, unlisted=0, left_out=0)

    @property
    def fabrics(self) -> list[str]:
        """Those in which some wait."""
        return [name for name, some in self._waiting.items() if some]

    def take(self, anomaly: Anomaly, now_ms: int) -> None:
        """An anomaly has been published."""
        known, key = self._parameters, (
            anomaly.src_ip, anomaly.dst_ip, anomaly.src_port, anomaly.dst_port
        )  # fmt: skip
        waiting = self._waiting[anomaly.fabric]
        end_ms = milliseconds_of(anomaly.window_end)
        if end_ms < now_ms - round(1000 * known.fresh_s):
            self.counts["stale"] += 1
        elif key in waiting or (anomaly.fabric, key) in self._asked:
            self.counts["known"] += 1
        elif sum(map(len, self._waiting.values())) >= known.kept:
            self.counts["left_out"] += 1
        else:
            waiting[key] = end_ms

    def recall(self, request: Request) -> None:
        """A request has been asked, now or before a restart."""
        if not request.request_id.startswith(_PREFIX):
            return
        asked_ms = milliseconds_of(request.asked_at)
        self._recent[request.fabric].append((asked_ms, request.packets))
        if request.kind == "probe":
            for each in request.targets:
                for port in each.src_ports:
                    key = each.src_ip, each.ip, port, each.port
                    self._asked[request.fabric, key] = asked_ms

    def plan(self, fabric: str, ground: Ground, room: Room, now_ms: int) -> list[Request]:
        """The requests of the suspects that are due: all fit into the room and the budget. Pass
        those that are stored to ``recall``."""
        self._forget(now_ms)
        known, waiting = self._parameters, self._waiting[fabric]
        recent = self._recent[fabric]
        left = known.hour_packets - sum(packets for _, packets in recent)
        busy_ms = now_ms - round(1000 * known.lasts_s)
        busy = sum(at > busy_ms for (name, _), at in self._asked.items() if name == fabric)
        by_ip = {each.ip: each for each in ground.endpoints}
        found: list[Request] = []
        for key in list(waiting)[: max(0, known.together - busy)]:
            source, target = by_ip.get(key[0]), by_ip.get(key[1])
            ports = ground.entries.get((key[0], key[1]), 0)
            entry = None
            if source is not None and target is not None and ports:
                entry = msgspec.convert(ground.target(source, target, 0, ports), Target)
            if entry is None or key[2] not in entry.src_ports or key[3] != entry.port:
                del waiting[key]
                self.counts["unlisted"] += 1
                continue
            assert source is not None  # noqa: S101 — an entry has a source
            one = msgspec.structs.replace(entry, src_ports=[key[2]])
            name = f"{_PREFIX}{now_ms}.{len(found)}"
            made = [_request("probe", f"{name}.p", fabric, source.node_sn, one, now_ms, known)]
            if one.layer == "underlay":
                back = msgspec.convert(ground.target(by_ip[key[1]], source, 0, 1), Target)
                back = msgspec.structs.replace(back, src_ports=[key[3]], port=key[2])
                made += [
                    _request("traceroute", f"{name}.r", fabric, source.node_sn, one, now_ms, known),
                    _request("traceroute", f"{name}.b", fabric, one.node_sn, back, now_ms, known),
                ]
            cost = sum(each.packets for each in made)
            if cost > left or not all(room.take(each) for each in made):
                continue  # it waits, until it is stale
            left -= cost
            del waiting[key]
            self.counts["asked"] += 1
            found += made
        return found

    def _forget(self, now_ms: int) -> None:
        """Drop what is too old to count."""
        known = self._parameters
        again_ms = now_ms - round(1000 * known.again_s)
        self._asked = {key: at for key, at in self._asked.items() if at > again_ms}
        for recent in self._recent.values():
            while recent and recent[0][0] <= now_ms - _HOUR_MS:
                recent.popleft()
        fresh_ms = now_ms - round(1000 * known.fresh_s)
        for waiting in self._waiting.values():
            for key in [key for key, end_ms in waiting.items() if end_ms < fresh_ms]:
                del waiting[key]
                self.counts["stale"] += 1


def _request(
    kind: Kind, name: str, fabric: str, node_sn: str, target: Target, now_ms: int,
    parameters: SuspectParameters,
) -> Request:  # fmt: skip
    count = max(1, round(parameters.lasts_s / parameters.interval_s)) if kind == "probe" else 1
    expires_ms = now_ms + round(1000 * (parameters.lasts_s + REQUESTS.answer_s))
    return Request(
        request_id=name, kind=kind, node_sn=node_sn, fabric=fabric, targets=[target], count=count,
        interval_s=parameters.interval_s if kind == "probe" else 1.0,
        reason=f"suspect path {target.src_ip} -> {target.ip}", asked_at=rfc3339_of_ms(now_ms),
        expires=rfc3339_of_ms(expires_ms),
    )  # fmt: skip
