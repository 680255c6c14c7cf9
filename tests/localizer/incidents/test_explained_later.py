"""What the first probes of a trouble show beside its cause is explained once more of them come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from localizer.incidents.tracked_incident import Impact
from localizer.incidents.tracker import IncidentTracker
from localizer.verdicts.verdict import Beside, Verdict
from schemas.documents.incident import Incident

START_S = 1_780_000_000
AGG = "agg:psw1"
CONTAINER = "container:c-1"


def verdict(component: str, bad: range, *, first: int = 0, effect: float = 1.0) -> Verdict:
    return Verdict(
        component, [component], "underlay", "loss", 1e-12, 0.99, np.array(bad), 40,
        START_S + first, effect=effect, contains=frozenset(),
    )  # fmt: skip


def parent_of_container(
    *, bad: range = range(6), cause_s: int = 3, cause_effect: float = 1.0, idle: bool = True
) -> str | None:
    """Component of the incident around that of a container, which loses on such paths in seconds 0
    and 1, where its switch loses on paths 0 .. 19 from ``cause_s`` on, of so many probes.

    idle  by the newest verdict on the switch, the container explains nothing besides
    """
    tracker = IncidentTracker("f1", lateness_s=2.0, strategy="hypothesis")
    cause = verdict(AGG, range(20), first=cause_s, effect=cause_effect)
    explains = replace(cause, beside=Beside(idle=frozenset({CONTAINER} if idle else ())))
    newest: dict[str, Incident] = {}
    for second in range(cause_s + 6):
        seen = [verdict(CONTAINER, bad)] if second < 2 else []
        if second >= cause_s:
            seen.append(cause if second < cause_s + 3 else explains)
        said = tracker.step(START_S + second, [(each, Impact("P2", [], [])) for each in seen])
        newest |= {document.incident_id: document for document, _ in said}
    components = {each.incident_id: each.component for each in newest.values()}
    assert sorted(components.values()) == [AGG, CONTAINER]
    (found,) = (each for each in newest.values() if each.component == CONTAINER)
    return components.get(found.parent or "")


def test_what_has_nothing_left_to_explain_beside_a_cause_becomes_its_child() -> None:
    assert parent_of_container() == AGG
    assert parent_of_container(idle=False) is None


def test_what_has_bad_paths_of_its_own_stays_by_itself() -> None:
    assert parent_of_container(bad=range(16, 22)) is None


def test_what_began_before_the_cause_stays_by_itself() -> None:
    assert parent_of_container(cause_s=5) == AGG
    assert parent_of_container(cause_s=6) is None


def test_what_is_worse_than_the_cause_explains_stays_by_itself() -> None:
    assert parent_of_container(cause_effect=0.1) is None
