"""Asks agents, while the service runs, for what tells the tie sets of open incidents apart, and for
a closer look at suspect paths."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator

from controller.feedback.choice import Ground
from controller.feedback.feedback import Feedback
from controller.feedback.suspects import Suspects
from controller.service.requests.desk import RequestDesk, TooMuch
from controller.service.requests.grounds import ground_of
from controller.service.site import NotStored, Site
from schemas.documents.incident import Incident
from schemas.documents.requests.request import Request
from schemas.metrics import Sample
from schemas.metrics import controller as metrics

_log = logging.getLogger(__name__)


class FeedbackLoop:
    """For one event loop; a thread plans, from copies.

    suspects  pass it the anomalies that are published
    """

    def __init__(self, site: Site, desk: RequestDesk, feedback: Feedback | None = None) -> None:
        self._site, self._desk = site, desk
        self._feedback = feedback or Feedback(requests=desk.parameters)
        self._begun_ms: int | None = None
        self.suspects = Suspects()
        desk.on_evidence.append(self._feedback.hear)
        desk.further_samples.append(self._samples)

    def restore(self, requests: Iterable[Request]) -> None:
        """What was asked before counts."""
        for each in requests:
            self._feedback.take(each)
            self.suspects.recall(each)

    async def run(self) -> None:
        """For ever; an error costs the look in which it occurs."""
        while True:
            try:
                await self.look()
            except NotStored as why:
                _log.error("requests are not stored: %s", why)
            except Exception:
                _log.exception("feedback: no requests are made for the open incidents")
            await asyncio.sleep(self._site.parameters.look_s)

    async def look(self) -> None:
        """End what need not go on, and ask for what is due; raises NotStored."""
        site, desk, feedback = self._site, self._desk, self._feedback
        incidents = site.advice.incidents
        for request, why in [*feedback.over(incidents, desk.open)]:
            desk.withdraw(request.request_id, why)
        grounds: dict[str, Ground] = {}
        for incident in feedback.due(incidents.values(), site.now_ms()):
            fabric = incident.fabric
            if fabric not in site.topologies or fabric not in site.state.lists:
                continue
            if self._too_early(fabric):
                continue
            if fabric not in grounds:
                grounds[fabric] = ground_of(site.topologies[fabric], site.state.lists[fabric])
            await self._round(incident, grounds[fabric])
        feedback.forget(incidents, site.now_ms())
        for fabric in self.suspects.fabrics:
            if fabric in site.topologies and fabric in site.state.lists:
                if fabric not in grounds:
                    grounds[fabric] = ground_of(site.topologies[fabric], site.state.lists[fabric])
                await self._look_closer(fabric, grounds[fabric])

    async def _look_closer(self, fabric: str, ground: Ground) -> None:
        """Ask for the suspects of a fabric that are due."""
        made = self.suspects.plan(fabric, ground, self._desk.open.room(), self._site.now_ms())
        for each in made:  # also where it is not stored at once: it is stored later
            self.suspects.recall(each)
        if made:
            try:
                await self._desk.ask(made)
            except TooMuch as why:  # an operator has asked meanwhile
                _log.info("suspects of fabric %s are left alone: %s", fabric, why)

    def _samples(self) -> Iterator[Sample]:
        for outcome, count in list(self.suspects.counts.items()):
            yield Sample(metrics.CONTROLLER_SUSPECTS, count, (outcome,))

    def _too_early(self, fabric: str) -> bool:
        """Whether agents have yet to register again, as after a start: few could be asked."""
        now_ms = self._site.now_ms()
        self._begun_ms = now_ms if self._begun_ms is None else self._begun_ms
        if now_ms - self._begun_ms >= round(2000 * self._site.parameters.register_every_s):
            return False
        lists = self._site.state.lists[fabric]
        ready = sum(lists.members[f"host:{node_sn}"].ready for node_sn in lists.hosts)
        return 2 * ready < len(lists.hosts)

    async def _round(self, incident: Incident, ground: Ground) -> None:
        room, now_ms = self._desk.open.room(), self._site.now_ms()
        made = await asyncio.to_thread(self._feedback.plan, incident, ground, room, now_ms)
        if not made:
            return
        for each in made:  # also where it is not stored at once: it is stored later
            self._feedback.take(each)
        try:
            await self._desk.ask(made)
        except TooMuch as why:  # an operator has asked meanwhile
            _log.info("feedback: incident %s has to wait: %s", incident.incident_id, why)
            return
        hosts = len({each.node_sn for each in made})
        _log.info(
            "feedback: incident %s, %s: %d requests to %d hosts tell %d members of its tie set "
            "apart", incident.incident_id, incident.component, len(made), hosts,
            len(incident.tie_set),
        )  # fmt: skip
