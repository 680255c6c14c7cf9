"""Which incident gets a round of requests, how much it may spend, and when that ends. No I/O.

An open incident whose tie set has several members gets rounds of probes until one member is left,
three rounds are over, its packets are spent, or nothing splits it. A round that runs goes on to its
end: the localizer tells members apart by what is probed now.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from controller.feedback.choice import Ground
from controller.feedback.parameters import DEFAULT, FeedbackParameters
from controller.feedback.rounds import FiveTuple, Round
from controller.requests.open_requests import Room
from controller.requests.parameters import DEFAULT as REQUESTS
from controller.requests.parameters import RequestParameters
from schemas.documents.incident import Incident
from schemas.documents.requests.evidence import Evidence
from schemas.documents.requests.request import Request
from schemas.documents.times import milliseconds_of

_HOUR_MS = 3_600_000


@dataclass(slots=True)
class Spent:
    """What an incident has had.

    rounds    times at which it was asked something [ms since the epoch]
    packets   [count]
    used      five-tuples of its probes, by source and target address [count]
    looked    its tie set and the time when there was nothing to ask for it
    settled   one member was left after a round: it gets no other one
    """

    rounds: set[int] = field(default_factory=set)
    packets: int = 0
    used: Counter[tuple[str, str]] = field(default_factory=Counter)
    looked: tuple[frozenset[str], int] | None = None
    settled: bool = False


class Feedback:
    """Remembers what was asked for which incident. ``take`` gets every request that was stored."""

    def __init__(
        self,
        parameters: FeedbackParameters = DEFAULT,
        requests: RequestParameters = REQUESTS,
    ) -> None:
        self._parameters, self._requests = parameters, requests
        self._spent: dict[str, Spent] = {}
        self._recent: dict[str, deque[tuple[int, int]]] = {}
        self._routes: dict[FiveTuple, int] = {}

    def take(self, request: Request) -> None:
        """A request has been asked, now or before a restart."""
        if not request.incident_id:
            return
        asked_ms = milliseconds_of(request.asked_at)
        spent = self._spent.setdefault(request.incident_id, Spent())
        spent.rounds.add(asked_ms)
        spent.packets += request.packets
        self._recent.setdefault(request.fabric, deque()).append((asked_ms, request.packets))
        if request.kind == "probe":
            for each in request.targets:
                spent.used[each.src_ip, each.ip] += len(each.src_ports)

    def hear(self, request: Request, evidence: Evidence) -> None:
        """An agent has answered: the routes that it found need not be asked for again."""
        if request.incident_id:
            expires_ms = milliseconds_of(request.expires)
            for each in evidence.routes:
                if each.dial in ("success", "refused"):
                    key = each.src_ip, each.src_port, each.ip, each.port
                    self._routes[key] = expires_ms

    def due(self, incidents: Iterable[Incident], now_ms: int) -> list[Incident]:
        """Those that may get a round now, the worst and then the oldest first."""
        found = [each for each in incidents if self._is_due(each, now_ms)]
        return sorted(found, key=lambda each: (each.severity, each.opened_at, each.incident_id))

    def plan(self, incident: Incident, ground: Ground, room: Room, now_ms: int) -> list[Request]:
        """The requests of the next round, all of which fit into the room and the budgets; empty
        where there is nothing to ask. Pass those that are stored to ``take``."""
        spent = self._spent.get(incident.incident_id, Spent())
        number = len(spent.rounds) + 1
        made = Round(incident, ground, number, now_ms, self._parameters, self._requests)
        left = _Left(room, self._packets_left(incident, now_ms))
        found: list[Request] = []
        if len(incident.tie_set) > 1:
            for first, *others in made.splitting({}, spent.used):
                if left.take(first):
                    found += [first, *(each for each in others if left.take(each))]
            probes = [each for each in found if each.kind == "probe"]
            found += [each for each in made.replies(probes) if left.take(each)]
        if number == 1:
            if len(incident.tie_set) > 1:
                found += [each for each in made.listed(self._routes.__contains__)
                          if left.take(each)]  # fmt: skip
            found += [each for each in made.facts() if left.take(each)]
        if not found:
            at = frozenset(incident.tie_set), now_ms
            self._spent.setdefault(incident.incident_id, spent).looked = at
        return found

    def over(
        self, incidents: Mapping[str, Incident], requests: Iterable[Request]
    ) -> Iterator[tuple[Request, str]]:
        """Open requests that need not go on, and why.

        incidents  those that are open, by id
        """
        for each in requests:
            if not each.incident_id:
                continue
            incident = incidents.get(each.incident_id)
            if incident is None or incident.state == "resolved":
                yield each, "the incident has ended"
            elif incident.parent is not None:
                yield each, f"incident {incident.parent} explains it"

    def forget(self, incidents: Mapping[str, Incident], now_ms: int) -> None:
        """Drop what is known of incidents that ended long ago, and of old routes."""
        kept_ms = now_ms - round(1000 * self._parameters.kept_s)
        for name, spent in list(self._spent.items()):
            last_ms = max(spent.rounds, default=spent.looked[1] if spent.looked else 0)
            if name not in incidents and last_ms < kept_ms:
                del self._spent[name]
        for key in [key for key, expires_ms in self._routes.items() if expires_ms < kept_ms]:
            del self._routes[key]
        for fabric, recent in list(self._recent.items()):
            _drop_old(recent, now_ms)
            if not recent:
                del self._recent[fabric]

    def _is_due(self, incident: Incident, now_ms: int) -> bool:
        if incident.state == "resolved" or incident.parent is not None:
            return False
        if incident.kind in ("pipeline", "agent") or not incident.tie_set:
            return False
        known = self._parameters
        spent = self._spent.get(incident.incident_id)
        if spent is None:
            return True
        pause_ms = round(1000 * (known.lasts_s + known.settle_s))
        if spent.looked is not None:
            tie, looked_ms = spent.looked
            again_ms = looked_ms + round(1000 * known.look_again_s)
            if tie == frozenset(incident.tie_set) and now_ms < again_ms:
                return False
        if not spent.rounds:
            return True
        spent.settled |= len(incident.tie_set) == 1
        return (
            not spent.settled
            and len(spent.rounds) < known.rounds
            and now_ms >= max(spent.rounds) + pause_ms
        )

    def _packets_left(self, incident: Incident, now_ms: int) -> int:
        spent = self._spent.get(incident.incident_id, Spent())
        recent = self._recent.get(incident.fabric, deque())
        _drop_old(recent, now_ms)
        in_hour = sum(packets for _, packets in recent)
        return min(
            self._parameters.packets - spent.packets, self._parameters.hour_packets - in_hour
        )


class _Left:
    """Room and packets of one round."""

    def __init__(self, room: Room, packets: int) -> None:
        self._room, self._packets = room, packets

    def take(self, request: Request) -> bool:
        if request.packets > self._packets or not self._room.take(request):
            return False
        self._packets -= request.packets
        return True


def _drop_old(recent: deque[tuple[int, int]], now_ms: int) -> None:
    while recent and recent[0][0] <= now_ms - _HOUR_MS:
        recent.popleft()
