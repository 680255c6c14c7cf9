"""Claims of several sources on one container -> its state. Pure.

Of each source and each state the newest claim counts. The claims are read in order of their time:

- anybody may move a container forward in its life: starting, ready, draining, gone;
- a step back (from draining or gone to ready) needs a source of at least the precedence of the one
  that set the state: an agent that registers again does not undo the scheduler's drain;
- a placement of a container that is gone begins a new life, which must become ready itself;
- a registration that is a little older than the placement belongs to it, since clocks of two
  sources differ; one from another host does not, nor does an older one.

So state is a function of the set of claims, whatever their order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import PRECEDENCE, Claim, State, Statement
from schemas.documents.times import milliseconds_of
from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class ClaimParameters:
    """clock_skew_ms  by which a registration may seem older than the placement"""

    clock_skew_ms: int = parameter(
        5000, unit="ms", source="chosen: what streams allow a sender's clock to be ahead"
    )


DEFAULT: Final = ClaimParameters()
_STEP: Final[dict[State, int]] = {"starting": 0, "ready": 1, "draining": 2, "gone": 3}


def order(claim: Claim | Statement) -> tuple[Any, ...]:
    """The newer of two claims has the greater order; equal only for equal claims."""
    state = _STEP[claim.state] if isinstance(claim, Claim) else 0
    time = milliseconds_of(claim.valid_from)
    return time, state, PRECEDENCE[claim.source], claim.key, msgspec.json.encode(claim)


def added(claims: tuple[Claim, ...], new: Claim) -> tuple[Claim, ...]:
    """The claims with the new one, in order; the very same tuple where it says nothing newer."""
    for old in claims:
        if (old.source, old.state) == (new.source, new.state):
            if order(new) <= order(old):
                return claims
            return tuple(sorted([*(each for each in claims if each is not old), new], key=order))
    return tuple(sorted([*claims, new], key=order))


class _Life(NamedTuple):
    """A container between its placement and its end.

    by      precedence of the source that set the state
    placed  the claims that placed it
    host    that the registration came from, empty before it
    """

    state: State
    since: str
    by: int
    placed: tuple[Claim, ...]
    host: str = ""


def placement(node_id: str, claims: Iterable[Claim], ends: Iterable[Claim] = ()) -> Placement:
    """The container's document.

    ends  claims that follow from the end of its job; they are not part of the document
    A container of which no source has said where it runs is ``starting`` on the host that relayed
    its registration, or ``gone`` where there is none.
    """
    own = tuple(claims)
    life = _life(sorted([*own, *ends], key=order))
    if life is None:
        newest = max(own, key=order)
        host = next((each.node_sn for each in reversed(own) if each.node_sn), "")
        return Placement(
            node_id=node_id, node_sn=host, state="starting" if host else "gone",
            valid_from=newest.valid_from, claims=list(own),
        )  # fmt: skip
    known = sorted(life.placed, key=lambda each: (PRECEDENCE[each.source], order(each)))
    said: dict[str, Any] = {}
    for claim in known:  # the most trusted word on each field comes last
        for name in ("fabric", "node_sn", "job", "tenant", "endpoints"):
            if value := getattr(claim, name):
                said[name] = value
    if not said.get("node_sn"):
        said["node_sn"] = next((each.node_sn for each in reversed(own) if each.node_sn), "")
    state = life.state if said["node_sn"] else "gone"
    if state == "ready" and life.host != said["node_sn"]:
        state = "starting"
    return Placement(
        node_id=node_id, state=state, valid_from=life.since,
        claims=list(own), **{"fabric": DEFAULT_FABRIC, **said},
    )  # fmt: skip


def job_of(claims: Iterable[Claim]) -> str:
    """The job that the claims place the container in; empty if none does."""
    life = _life(sorted(claims, key=order))
    if life is None:
        return ""
    known = sorted(life.placed, key=lambda each: (PRECEDENCE[each.source], order(each)))
    return next((each.job for each in reversed(known) if each.job), "")


def _life(claims: Iterable[Claim]) -> _Life | None:
    """The container's present life, or its last; None before it is placed. Claims in order."""
    life: _Life | None = None
    registered: Claim | None = None
    for claim in claims:
        by, since = PRECEDENCE[claim.source], claim.valid_from
        if claim.state == "starting":
            if life is None and registered is not None and _recent(registered, claim):
                precedence = PRECEDENCE[registered.source]
                life = _Life("ready", since, precedence, (claim,), registered.node_sn)
            elif life is None or life.state == "gone":
                life = _Life("starting", since, by, (claim,))
            else:
                life = life._replace(placed=(*life.placed, claim))
        elif life is None:
            registered = claim if claim.state == "ready" else None
        elif claim.state == "ready":
            if life.state == "starting" or (life.state != "ready" and by >= life.by):
                life = life._replace(state="ready", since=since, by=by, host=claim.node_sn)
        elif _STEP[claim.state] > _STEP[life.state]:
            life = life._replace(state=claim.state, since=since, by=by)
        elif claim.state == life.state:
            life = life._replace(by=max(by, life.by))
    return life


def _recent(registration: Claim, placed: Claim) -> bool:
    age_ms = milliseconds_of(placed.valid_from) - milliseconds_of(registration.valid_from)
    return age_ms <= DEFAULT.clock_skew_ms
