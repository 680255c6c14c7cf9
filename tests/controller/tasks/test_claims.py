"""Which of several sources decides a container's state."""

from __future__ import annotations

from itertools import permutations

import pytest

from controller.tasks import claims
from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import Claim, Source, State
from schemas.documents.times import rfc3339
from schemas.documents.topology import Endpoint


def claim(source: Source, state: State, second: int, host: str = "", job: str = "") -> Claim:
    time = rfc3339((1_790_000_000 + second) * 1_000_000_000)
    if state == "ready":
        host = host or "h1"
    return Claim(source=source, state=state, valid_from=time, node_sn=host, job=job)


def placed(source: Source, second: int, host: str = "h1") -> Claim:
    return claim(source, "starting", second, host)


def decided(*spoken: Claim) -> Placement:
    """The document, which is the same whatever the order of arrival."""
    documents = set()
    for order in permutations(spoken):
        known: tuple[Claim, ...] = ()
        for each in order:
            known = claims.added(known, each)
        document = claims.placement("c1", known)
        documents.add((document.state, document.node_sn, document.job))
    assert len(documents) == 1
    return document


@pytest.mark.parametrize(
    ("spoken", "state"),
    [
        ((placed("kubernetes", 0),), "starting"),
        ((placed("kubernetes", 0), claim("agent", "ready", 5)), "ready"),
        ((placed("kubernetes", 3), claim("agent", "ready", 0)), "ready"),
        ((placed("kubernetes", 9), claim("agent", "ready", 0)), "starting"),
        ((placed("kubernetes", 0), claim("agent", "ready", 5, "h2")), "starting"),
        ((placed("file", 0), claim("agent", "ready", 5), claim("agent", "gone", 9)), "gone"),
    ],
    ids=[
        "a placed container is starting",
        "a registered container is ready",
        "a registration a little before the placement counts",
        "a registration long before the placement is of an earlier life",
        "a registration from another host does not count",
        "an agent may end its own container",
    ],
)
def test_a_container_moves_forward_in_its_life(spoken: tuple[Claim, ...], state: State) -> None:
    assert decided(*spoken).state == state


def test_an_agent_that_registers_again_does_not_undo_the_schedulers_drain() -> None:
    start = (placed("kubernetes", 0), claim("kubernetes", "draining", 10))
    assert decided(*start, claim("agent", "ready", 11)).state == "draining"
    assert decided(*start, claim("kubernetes", "ready", 11)).state == "ready"
    assert decided(*start, claim("rest", "ready", 11)).state == "ready"


def test_a_container_that_a_scheduler_calls_gone_stays_gone_until_it_is_placed_anew() -> None:
    gone = (placed("slurm", 0), claim("slurm", "gone", 10))
    assert decided(*gone, claim("agent", "ready", 12)).state == "gone"
    assert decided(*gone, placed("file", 12)).state == "starting"
    again = (*gone, placed("file", 12), claim("agent", "ready", 13))
    assert decided(*again).state == "ready"


def test_the_most_trusted_source_decides_the_host_and_the_others_fill_in_what_it_leaves_out() -> (
    None
):
    document = decided(
        claim("slurm", "starting", 0, "h1", "job-a"), claim("file", "starting", 5, "h9", "job-z")
    )
    assert (document.node_sn, document.job) == ("h1", "job-a")
    endpoint = Endpoint("172.16.0.1", "10.0.0.1")
    own = Claim(
        source="file", state="starting", valid_from="2026-01-01T00:00:00Z", endpoints=[endpoint]
    )
    found = claims.placement("c1", [own, claim("slurm", "starting", 0, "h1", "job-a")])
    assert found.endpoints == [endpoint]


def test_a_registration_of_a_container_that_no_source_has_placed_is_kept_but_not_ready() -> None:
    assert decided(claim("agent", "ready", 5)).state == "starting"
    assert decided(claim("kubernetes", "draining", 5)).state == "gone"
