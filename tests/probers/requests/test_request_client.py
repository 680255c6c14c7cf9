"""The agent's side of the connection for requests: waits for changes, survives any answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from builders.agents.requests import request

from probers.ping_list.document import PingListError
from probers.ping_list.fetch import Answer
from probers.requests.client import RequestClient
from probers.requests.usable import MOST
from schemas.documents.requests.request import Request


class Controller:
    """Answers as the service does."""

    def __init__(self) -> None:
        self.body, self.etag, self.down = b'{"requests":[]}', '"1"', False
        self.asked: list[str] = []

    def __call__(
        self,
        location: str,
        deadline_s: float,
        *,
        headers: dict[str, str],
        body: bytes | None = None,
    ) -> Answer:
        assert headers["Authorization"] == "Bearer secret"
        if self.down:
            raise PingListError("connection refused")
        where, _, asked = location.partition("?")
        assert where == "http://controller:8770/api/v1/agents/host%201/requests"
        self.asked.append(asked)
        if headers.get("If-None-Match") == self.etag:
            return Answer(304, self.etag, b"")
        return Answer(200, self.etag, self.body)

    def open(self, etag: str, *requests: object) -> None:
        self.body, self.etag = msgspec.json.encode({"requests": requests}), etag


class Agent:
    def __init__(self) -> None:
        self.controller = Controller()
        self.offered: list[list[str]] = []
        self.counts: Counter[str] = Counter()
        self.client = RequestClient(
            ["http://controller:8770/"], "host 1", "secret", self.offer, self.counts,
            ask=self.controller,
        )  # fmt: skip

    def offer(self, requests: Sequence[Request]) -> None:
        self.offered.append([each.request_id for each in requests])


def test_an_agent_reads_its_requests_at_once_and_then_waits_for_a_change() -> None:
    agent = Agent()
    assert agent.client.poll()
    assert agent.client.poll()
    agent.controller.open('"2"', request())
    assert agent.client.poll()
    assert agent.controller.asked == ["wait_s=0", "wait_s=55", "wait_s=55"]
    assert agent.offered == [[], ["r1"]]


def test_an_invalid_request_does_not_hide_the_others() -> None:
    agent = Agent()
    agent.controller.open('"2"', {"request_id": "r0"}, request())
    assert agent.client.poll()
    assert agent.offered == [["r1"]]
    assert agent.counts == {"invalid": 1, "read": 1}


def test_more_requests_than_a_host_may_have_are_not_looked_at() -> None:
    agent = Agent()
    agent.controller.open('"2"', *[request(request_id=f"r{n}") for n in range(MOST + 5)])
    assert agent.client.poll()
    assert len(agent.offered[0]) == MOST


def test_a_controller_that_fails_or_answers_nonsense_ends_nothing() -> None:
    agent = Agent()
    agent.controller.open('"2"', request())
    assert agent.client.poll()
    agent.controller.down = True
    assert not agent.client.poll()
    agent.controller.down = False
    agent.controller.body, agent.controller.etag = b"<html>", '"3"'
    assert not agent.client.poll()
    assert agent.offered == [["r1"]]
    assert agent.counts["failed"] == 2
