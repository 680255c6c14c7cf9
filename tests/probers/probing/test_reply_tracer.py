"""Routes of replies: each listed peer's once an interval, as many a second as are allowed."""

from __future__ import annotations

from random import Random

import pytest

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key
from probers.net.responder import Responder
from probers.probing.reply_tracer import ReplyTracer

SECOND = 10**9
OWN = ("10.0.0.2", 65300)


class Site:
    """A responder that peers probe, and a tracer of its replies, in virtual time."""

    def __init__(self, key: Key) -> None:
        self.now_ns = 10**18
        self.responder = Responder(key)
        self.traced: list[FiveTuple] = []
        self.tracer = ReplyTracer(
            self.responder, self.traced.append, Random(1), now=lambda: self.now_ns
        )

    def list(self, *peers: str, interval_s: float = 60, rate: float = 100) -> None:
        listed = {(OWN[0], peer): (26, {"dst_ip": peer}) for peer in peers}
        self.tracer.replace(listed, interval_s, rate)  # type: ignore[arg-type]

    def second(self, *probed: str) -> list[str]:
        """Pass a second in which these peers probe; whose replies are traced at its end."""
        for peer in probed:
            self.responder.record_flow((*OWN, peer, 50_000), self.now_ns)
        self.now_ns += SECOND
        self.traced.clear()
        self.tracer.trace_due()
        return [flow.dst[0] for flow in self.traced]


@pytest.fixture
def site(key: Key) -> Site:
    return Site(key)


def test_the_reply_to_a_listed_peer_is_traced_from_the_responders_port(site: Site) -> None:
    site.list("a")
    assert site.second("a", "stranger") == ["a"]
    (flow,) = site.traced
    assert (flow.src, flow.dst, flow.dscp) == (OWN, ("a", 50_000), 26)
    assert flow.columns == {"dst_ip": "a"}


def test_a_flow_is_traced_once_an_interval_while_it_is_probed(site: Site) -> None:
    site.list("a", interval_s=10)
    traced = [bool(site.second("a")) for _ in range(100)]
    assert sum(traced) in (9, 10), "jitter adds up to a tenth"
    assert not any(site.second() for _ in range(100)), "it is probed no more"


def test_a_second_has_no_more_traces_than_allowed_and_the_others_wait_their_turn(
    site: Site,
) -> None:
    site.list("a", "b", "c", "d", "e", rate=2)
    assert site.second("a", "b", "c", "d", "e") == ["a", "b"]
    assert site.second("a", "b") == ["c", "d"]
    assert site.second("a", "b") == ["e"]
    assert site.second("a", "b") == []


def test_a_peer_that_is_listed_later_is_traced_though_it_probed_before(site: Site) -> None:
    site.list("a")
    site.second("a", "b")
    site.list("a", "b")
    assert site.second() == ["b"]


def test_a_flow_that_waited_until_it_was_old_is_not_traced(site: Site) -> None:
    site.list("a", "b", interval_s=2, rate=1)
    assert site.second("a", "b") == ["a"]
    site.now_ns += 5 * SECOND
    assert site.second() == []


def test_without_a_list_no_reply_is_traced(site: Site) -> None:
    assert site.second("a") == []
