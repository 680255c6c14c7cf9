"""Asks agents, records what was asked, and hands answers on; for one event loop.

A request is stored on skh.requests before any agent sees it, and agents get no other ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from controller.requests.open_requests import OpenRequests
from controller.requests.parameters import DEFAULT, RequestParameters
from controller.requests.recent_evidence import RecentEvidence
from controller.service.messages import Message
from controller.service.site import Site
from controller.service.waiting import Waiting
from controller.state import Host
from schemas import topics
from schemas.documents.requests.evidence import Answer, Evidence
from schemas.documents.requests.request import Request
from schemas.documents.times import milliseconds_of
from schemas.metrics import Sample
from schemas.metrics import controller as metrics


class TooMuch(Exception):
    """There is no room for the request now; one line."""


class RequestDesk:
    """open     requests that have not ended
    waiting  agents that wait for requests
    evidence  about incidents, for operators
    unread   why no answers are read; empty where they are
    """

    def __init__(self, site: Site, parameters: RequestParameters = DEFAULT) -> None:
        self.parameters = parameters
        self.open = OpenRequests(parameters)
        self.waiting = Waiting()
        self.unread = ""
        self.evidence = RecentEvidence(parameters)
        self.on_evidence: list[Callable[[Request, Evidence], None]] = []
        self.further_samples: list[Callable[[], Iterator[Sample]]] = []
        self._site = site
        self._asking = asyncio.Lock()  # the room that one finds is not given to another
        self._readers: dict[str, asyncio.Queue[Evidence]] = {}

    def restore(self, documents: Iterable[Request | Answer]) -> list[Request]:
        """Go on with what holds of the topics' last documents; returns all requests among them.

        What was asked on demand is withdrawn: its reader is gone.
        """
        asked: dict[str, Request] = {}
        answers: list[Answer] = []
        for each in documents:
            if isinstance(each, Request):
                asked[each.request_id] = each
            else:
                answers.append(each)
        now_ms = self._site.now_ms()
        for request in asked.values():
            if not request.withdrawn and milliseconds_of(request.expires) > now_ms:
                self.open.add(request)
        for answer in answers:
            if answer.evidence.request_id in self.open:
                self._request_of(answer)
        for request in self.open:
            if request.operator:
                self.withdraw(request.request_id, "the controller has been restarted")
        return [*asked.values()]

    async def ask(self, requests: Sequence[Request]) -> None:
        """Ask agents; returns when the requests are stored. Raises TooMuch, NotStored."""
        async with self._asking:
            for request in requests:
                if (why := self.open.too_much(request)) is not None:
                    raise TooMuch(why)
            self._site.publisher.add(map(_message, requests))
            await self._site.flush()
            for request in requests:
                self.open.add(request)
        self.waiting.wake({(each.fabric, each.node_sn) for each in requests})

    def withdraw(self, request_id: str, why: str) -> None:
        """End a request early; the agent learns of it at once, the topic soon."""
        request = self.open.withdraw(request_id, why)
        if request is not None:
            self._site.publisher.add([_message(request)])
            self.waiting.wake([(request.fabric, request.node_sn)])

    def take(self, answer: Answer) -> None:
        """An agent has answered."""
        evidence, request = answer.evidence, self._request_of(answer)
        if request is None:
            return
        if evidence.state != "running":
            self.waiting.wake([(request.fabric, request.node_sn)])
        self.evidence.add(request, evidence)
        for hear in self.on_evidence:
            hear(request, evidence)
        self._hand_on(evidence)

    def expire(self) -> None:
        """End what is over; must be called about every second."""
        for request in self.open.expire(self._site.now_ms()):
            self._hand_on(
                Evidence(
                    request_id=request.request_id, kind=request.kind, node_sn=request.node_sn,
                    fabric=request.fabric, number=1, time=request.expires, state="expired",
                    reason=f"the agent of host {request.node_sn} has not answered to its end",
                )
            )  # fmt: skip

    async def answers(self, request: Request) -> AsyncAnswers:
        """Ask, and read the answers; raises as ``ask``."""
        queue: asyncio.Queue[Evidence] = asyncio.Queue(self.parameters.waiting)
        self._readers[request.request_id] = queue
        try:
            await self.ask([request])
        except BaseException:
            del self._readers[request.request_id]
            raise
        return AsyncAnswers(self, request, queue)

    def left(self, request_id: str) -> None:
        """The reader of a request has gone: it need not go on."""
        self._readers.pop(request_id, None)
        self.withdraw(request_id, "the caller has gone")

    def requests(self, host: Host) -> list[Request]:
        """What the host's agent is to do."""
        return self.open.of_host(host, self._site.now_ms())

    def etag(self, host: Host) -> str:
        """Identifies the requests of a host."""
        return self.open.etag(host, self._site.now_ms())

    async def changed(self, host: Host, etag: str, wait_s: float) -> None:
        """Return when the host's requests have another ETag, or after ``wait_s``."""
        clock = asyncio.get_running_loop().time
        until_s = clock() + min(wait_s, self._site.parameters.longest_wait_s)
        while self.etag(host) == etag and (left_s := until_s - clock()) > 0:
            if not await self.waiting.changed(host, left_s):
                return

    def samples(self) -> Iterator[Sample]:
        """Metrics of requests."""
        counts = self.open.counts
        for outcome in ("asked", "complete", "refused", "expired", "withdrawn"):
            yield Sample(metrics.CONTROLLER_REQUESTS, counts[outcome], (outcome,))
        yield Sample(metrics.CONTROLLER_REQUESTS_OPEN, len(self.open))
        for outcome in ("repeated", "missing", "unknown"):
            yield Sample(metrics.CONTROLLER_EVIDENCE, counts[outcome], (outcome,))
        for more in self.further_samples:
            yield from more()

    def _request_of(self, answer: Answer) -> Request | None:
        """See ``OpenRequests.answered``; of a container only what its own endpoints were asked."""
        evidence, client = answer
        if client and not self._asked(client, evidence):
            self.open.counts["unknown"] += 1
            return None
        return self.open.answered(evidence)

    def _asked(self, client: str, evidence: Evidence) -> bool:
        lists = self._site.state.lists.get(evidence.fabric)
        sources = self.open.sources(evidence.request_id)
        owners = [lists.member(ip) for ip in sources] if lists is not None else []
        return bool(owners) and all(
            owner is not None and owner[0].node_id == client for owner in owners
        )

    def _hand_on(self, evidence: Evidence) -> None:
        queue = self._readers.get(evidence.request_id)
        if queue is None:
            return
        if queue.full():  # the newest says how it ended; its counts are of all probes
            queue.get_nowait()
        queue.put_nowait(evidence)


class AsyncAnswers:
    """The evidence of one request as it comes."""

    def __init__(self, desk: RequestDesk, request: Request, queue: asyncio.Queue[Evidence]) -> None:
        self.request = request
        self._desk, self._queue = desk, queue

    async def next(self, wait_s: float) -> Evidence | None:
        """The next one; None where none has come for so long."""
        try:
            async with asyncio.timeout(wait_s):
                return await self._queue.get()
        except TimeoutError:
            return None

    def close(self) -> None:
        """Read no more."""
        self._desk.left(self.request.request_id)


def _message(request: Request) -> Message:
    return Message(topics.REQUESTS.name, request.request_id, msgspec.json.encode(request))
