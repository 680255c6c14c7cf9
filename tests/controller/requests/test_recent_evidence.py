"""Evidence about incidents is held for operators, the newest of it, within bytes."""

from __future__ import annotations

import msgspec
from builders.schemas.documents import EVIDENCE, REQUEST
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.requests.parameters import RequestParameters
from controller.requests.recent_evidence import RecentEvidence


def test_evidence_of_probes_on_demand_is_not_held_and_neither_is_what_says_nothing() -> None:
    held = RecentEvidence()
    held.add(REQUEST, EVIDENCE)
    mine = msgspec.structs.replace(REQUEST, incident_id="I1", operator="")
    empty = msgspec.structs.replace(EVIDENCE, probes=[], routes=[], counters=[])
    held.add(mine, empty)
    assert held.of("I1") == held.of("") == []
    held.add(mine, EVIDENCE)
    assert held.of("I1") == [EVIDENCE]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["I1", "I2"]), st.integers(0, 600)), max_size=30))
def test_the_newest_that_fit_are_held(sizes: list[tuple[str, int]]) -> None:
    held = RecentEvidence(RequestParameters(evidence_bytes=2000))
    added = []
    for name, size in sizes:
        of = msgspec.structs.replace(REQUEST, incident_id=name, operator="")
        answer = msgspec.structs.replace(EVIDENCE, reason="x" * size)
        held.add(of, answer)
        added.append((name, answer))
    kept: list[tuple[str, object]] = []
    for name, answer in reversed(added):
        if sum(len(msgspec.json.encode(each)) for _, each in [*kept, (name, answer)]) > 2000:
            break
        kept.append((name, answer))
    for name in ("I1", "I2"):
        assert held.of(name) == [each for own, each in reversed(kept) if own == name]
