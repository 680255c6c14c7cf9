"""An agent that knows two controllers, of which one leads: over HTTP, without a broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import Service, serving, token_of

from probers.ping_list.controller import ControllerClient, Ready
from probers.ping_list.document import PingList
from probers.ping_list.poller import MAX_FAILURES, PingListPoller
from probers.requests.client import RequestClient

NODE = "h000"


class Pair:
    """Two controllers of the same fabric, and an agent; ``lead`` says which one leads."""

    def __init__(self, stack: ExitStack) -> None:
        self.services = [Service(two_tiers(4)) for _ in range(2)]
        self.urls = [stack.enter_context(serving(each)) for each in self.services]
        self.client = ControllerClient(self.urls, NODE, token_of(NODE), Ready)
        self.lists: list[PingList | None] = []
        self.said: list[str] = []
        self.poller = PingListPoller(
            self.client.location, lambda _, __: None, self.lists.append, self.said.append,
            fetch=self.client,
        )  # fmt: skip

    def lead(self, number: int | None) -> None:
        for index, each in enumerate(self.services):
            each.site.leads = index == number

    def knows(self, number: int) -> bool:
        """Whether the agent's host has registered there."""
        return bool(self.services[number].site.state.lists["f1"].members[f"host:{NODE}"].ready)


@pytest.fixture
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(stack)


def test_the_list_comes_from_the_one_that_leads_and_the_host_registers_there(pair: Pair) -> None:
    pair.lead(1)
    pair.poller.poll()
    assert [each.node_sn for each in pair.lists if each] == [NODE]
    assert (pair.knows(0), pair.knows(1)) == (False, True)


def test_when_the_other_one_takes_over_the_agent_registers_there_and_keeps_its_list(
    pair: Pair,
) -> None:
    pair.lead(0)
    pair.poller.poll()
    pair.lead(1)
    pair.poller.poll()
    assert (pair.knows(0), pair.knows(1)) == (True, True)
    assert len(pair.lists) == 1, "the other controller's list is the same"
    assert pair.said == []


def test_probing_stops_after_three_failures_of_both(pair: Pair) -> None:
    pair.lead(0)
    pair.poller.poll()
    pair.lead(None)
    for _ in range(MAX_FAILURES - 1):
        pair.poller.poll()
    assert pair.lists[-1] is not None
    pair.poller.poll()
    assert pair.lists[-1] is None
    assert all(f"{url}/api/v1/agents/{NODE}/" in pair.said[0] for url in pair.urls)
    assert pair.said[0].count("503") == 2
    pair.lead(1)
    pair.poller.poll()
    assert pair.lists[-1] is not None


def test_requests_are_asked_of_the_one_that_leads(pair: Pair) -> None:
    pair.lead(1)
    client = RequestClient(pair.urls, NODE, token_of(NODE), lambda _: None, counts := Counter())
    assert client.poll()
    assert counts == {"read": 1}
    pair.lead(None)
    assert not client.poll()
