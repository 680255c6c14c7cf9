"""The life of an incident: opened by the second sighting, closed by calm, one for each cause."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from localizer.incidents.parameters import DEFAULT
from localizer.incidents.tracked_incident import Impact
from localizer.incidents.tracker import IncidentTracker
from localizer.verdicts.verdict import Beside, Contrast, IssueTypes, Measured, Verdict
from schemas.documents.incident import Incident, Symptom
from schemas.documents.times import rfc3339

START_S = 1_780_000_000
P2 = Impact("P2", [], [])


def verdict(
    component: str = "tor:asw1",
    bad: Sequence[int] = range(10),
    *,
    first: int = 0,
    symptom: Symptom = "loss",
    ties: Sequence[str] = (),
) -> Verdict:
    agent = symptom in ("agent_down", "clock_skewed")
    return Verdict(
        component, [component, *ties], "agent" if agent else "underlay", symptom, 1e-12, 0.99,
        np.array(sorted(bad), np.int64), 40, START_S + first, effect=0.3,
    )  # fmt: skip


class Story:
    def __init__(self, tracker: IncidentTracker | None = None) -> None:
        self.tracker = tracker or IncidentTracker("f1", lateness_s=2.0, strategy="hypothesis")
        self.written: list[Incident] = []

    def second(self, at: int, *seen: Verdict, impact: Impact = P2) -> list[Incident]:
        out = [doc for doc, _ in self.tracker.step(START_S + at, [(v, impact) for v in seen])]
        self.written += out
        return out

    def during(self, first: int, last: int, *seen: Verdict) -> Story:
        """The same verdicts in each second first..last."""
        for at in range(first, last + 1):
            again = [verdict(v.component, v.bad.tolist(), first=v.first_s - START_S,
                             symptom=v.symptom, ties=v.tie_set[1:]) for v in seen]  # fmt: skip
            self.second(at, *again)
        return self

    def calm(self, first: int, last: int) -> Story:
        return self.during(first, last)

    @property
    def newest(self) -> dict[str, Incident]:
        return {doc.incident_id: doc for doc in self.written}

    @property
    def states(self) -> list[tuple[str, str]]:
        return [(doc.component, doc.state) for doc in self.written]


def at(second: float) -> str:
    return rfc3339(int((START_S + second) * 1e9))


# --- opening ----------------------------------------------------------------------------------


def test_one_sighting_opens_nothing_and_the_second_opens() -> None:
    story = Story()
    assert story.second(1, verdict()) == []
    (opened,) = story.second(2, verdict())
    assert (opened.state, opened.version, opened.component) == ("open", 1, "tor:asw1")


def test_latency_over_minutes_of_evidence_takes_two_sightings_too() -> None:
    """The evidence of rarely probed paths is long because it is thin."""
    measured = Measured(Contrast(9, 9, 0, 99), {}, 20.0, 100, 9, [])
    late = replace(verdict(symptom="high_latency"), renewal_s=25, measured=measured)
    story = Story()
    assert story.second(1, late) == []
    (opened,) = story.second(6, late)
    assert opened.symptom == "high_latency"


def test_opened_at_is_the_first_bad_pane_and_detected_at_what_a_live_user_would_have_seen() -> None:
    (opened,) = Story().during(4, 5, verdict(first=3)).written
    assert (opened.opened_at, opened.detected_at) == (at(3), at(5 + 1 + 2.0))
    assert opened.updated_at == at(5)
    assert opened.closed_at is None


def test_sightings_far_apart_are_chance() -> None:
    story = Story()
    for second in (1, 5, 9, 13):
        assert story.second(second, verdict()) == []


def test_two_verdicts_in_one_second_are_one_sighting() -> None:
    assert Story().second(1, verdict(), verdict()) == []


def test_an_agent_that_is_down_is_believed_at_once() -> None:
    (opened,) = Story().second(1, verdict("agent:h1", symptom="agent_down"))
    assert opened.state == "open"


def test_the_id_follows_from_the_cause_and_the_first_bad_pane() -> None:
    text = f"f1\nreachability\ntor:asw1\n{START_S + 3}"
    known = base64.b32encode(hashlib.sha256(text.encode()).digest())[:16].decode().lower()
    (one,) = Story().during(4, 5, verdict(first=3)).written
    (again,) = Story().during(4, 5, verdict(first=3)).written
    assert one.incident_id == again.incident_id == known
    (other,) = Story().during(4, 5, verdict(first=4)).written
    assert other.incident_id != known


# --- while it lasts ---------------------------------------------------------------------------


def test_an_incident_is_not_written_again_while_nothing_changes() -> None:
    story = Story().during(1, 60, verdict())
    assert story.states == [("tor:asw1", "open"), ("tor:asw1", "ongoing")]


def test_an_incident_is_written_again_when_more_paths_are_bad_but_not_every_second() -> None:
    story = Story()
    for second in range(1, 62):
        story.second(second, verdict(bad=range(10 + second)))
    assert [doc.version for doc in story.written] == list(range(1, 7))
    assert [doc.updated_at for doc in story.written] == [
        at(2 + n * DEFAULT.update_s) for n in range(6)
    ]
    assert story.written[-1].paths_bad > story.written[0].paths_bad


def test_loss_that_becomes_unreachability_is_written_at_once_and_does_not_go_back() -> None:
    story = Story().during(1, 2, verdict())
    (worse,) = story.second(3, verdict(symptom="unconnectivity"))
    assert (worse.symptom, worse.state) == ("unconnectivity", "ongoing")
    story.during(4, 40, verdict())
    assert story.written[-1].symptom == "unconnectivity"


def test_an_incident_never_becomes_milder_and_keeps_every_job() -> None:
    story = Story()
    story.second(1, verdict(), impact=Impact("P1", ["job-1"], ["t1"]))
    story.second(2, verdict(), impact=Impact("P0", ["job-1"], ["t1"]))
    for second in range(3, 30):
        story.second(second, verdict(bad=range(20)), impact=Impact("P2", ["job-2"], []))
    last = story.written[-1]
    assert (last.severity, last.jobs, last.tenants) == ("P0", ["job-1", "job-2"], ["t1"])


# --- closing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symptom", "family"),
    [("loss", "reachability"), ("high_latency", "latency"), ("agent_down", "agent")],
)
def test_an_incident_closes_after_calm_and_was_over_when_the_calm_began(
    symptom: Symptom, family: str
) -> None:
    story = Story().during(1, 20, verdict("agent:h1", symptom=symptom))
    clear = DEFAULT.clear_s.of(family)  # type: ignore[index]  # a Family
    story.calm(21, 20 + clear - 1)
    assert story.written[-1].state != "resolved"
    (closed,) = story.calm(20 + clear, 20 + clear).written[-1:]
    assert (closed.state, closed.closed_at) == ("resolved", at(21))


def test_a_moment_of_calm_does_not_close_an_incident() -> None:
    story = Story().during(1, 5, verdict()).calm(6, 12).during(13, 20, verdict()).calm(21, 28)
    assert "resolved" not in [state for _, state in story.states]


def test_the_same_trouble_soon_again_is_the_same_incident() -> None:
    story = Story().during(1, 5, verdict()).calm(6, 30).during(31, 33, verdict(first=31))
    assert [state for _, state in story.states] == ["open", "resolved", "ongoing"]
    assert len(story.newest) == 1
    assert story.written[-1].closed_at is None
    assert story.written[-1].opened_at == at(0)


def test_the_same_trouble_much_later_is_another_incident() -> None:
    later = DEFAULT.reopen_s + 20
    story = Story().during(1, 5, verdict()).calm(6, later)
    story.during(later + 1, later + 2, verdict(first=later))
    assert [state for _, state in story.states] == ["open", "resolved", "open"]
    assert len(story.newest) == 2


# --- issue type -------------------------------------------------------------------------------


def typed(
    name: str, p: float, *, flapping: bool | None = None, symptom: Symptom = "unconnectivity",
    effect: float = 1.0,
) -> Verdict:  # fmt: skip
    issue = IssueTypes(name, {name: p}, flapping)
    return replace(verdict("rnic:r1", symptom=symptom), issue=issue, effect=effect)


def written_types(*seen: Verdict) -> list[tuple[int, str | None]]:
    """(version, issue type) of all that is written when these are seen second by second."""
    story = Story()
    for second, each in enumerate(seen, start=1):
        story.second(second, each)
    return [(doc.version, doc.issue_type) for doc in story.written]


STEADY = typed("rnic_port_down", 0.6, flapping=False)
DOWN, FLAPPING = typed("rnic_port_down", 0.6), typed("rnic_port_flapping", 0.5, flapping=True)


def test_flapping_is_reported_as_soon_as_it_shows() -> None:
    assert written_types(DOWN, DOWN, DOWN, FLAPPING) == [
        (1, "rnic_port_down"),
        (2, "rnic_port_flapping"),
    ]


def test_an_incident_that_was_seen_to_flap_flaps_to_its_end() -> None:
    steady = typed("rnic_port_down", 0.9, flapping=False)
    types = written_types(DOWN, DOWN, *[FLAPPING, steady, DOWN] * 10)
    assert [name for _, name in types] == [
        "rnic_port_down",
        *["rnic_port_flapping"] * len(types[1:]),
    ]


def test_issue_types_do_not_take_turns() -> None:
    other = typed("bond_error", 0.61)
    assert written_types(DOWN, DOWN, *[other, DOWN] * 4) == [
        (1, "rnic_port_down"),
        (2, "bond_error"),
    ]


def test_a_type_of_a_trouble_known_to_be_steady_replaces_one_of_a_trouble_not_known_to_be() -> None:
    steady = typed("bond_error", 0.3, flapping=False)
    assert written_types(DOWN, DOWN, steady, DOWN) == [(1, "rnic_port_down"), (2, "bond_error")]


@pytest.mark.parametrize(
    "tail",
    [
        typed("crc_error", 0.9, flapping=False, symptom="loss"),
        typed("crc_error", 0.9, flapping=False, effect=0.4),
        typed("rnic_port_flapping", 0.9, flapping=True, effect=0.2),
    ],
)
def test_the_tail_of_a_trouble_does_not_change_its_issue_type(tail: Verdict) -> None:
    story = Story()
    for second in range(1, 30):
        story.second(second, STEADY if second < 5 else tail)
    assert len(story.written) > 1
    assert {doc.issue_type for doc in story.written} == {"rnic_port_down"}
    assert story.written[-1].evidence["issue_types"] == {"rnic_port_down": 0.6}


def test_a_restored_incident_is_known_to_flap() -> None:
    before = Story()
    for second in (1, 2):
        before.second(second, FLAPPING)
    after = restored(list(before.newest.values()))
    for second in range(3, 20):
        after.second(second, typed("rnic_port_down", 0.9, flapping=False))
    assert {doc.issue_type for doc in after.written} == {"rnic_port_flapping"}


# --- one cause, one incident ------------------------------------------------------------------

RNICS = [verdict(f"rnic:r{n}", range(10 * n, 10 * n + 10)) for n in range(3)]
TOR = verdict("tor:asw1", range(30))


def test_two_causes_are_two_incidents() -> None:
    story = Story().during(1, 5, *RNICS[:2])
    assert story.states == [("rnic:r0", "open"), ("rnic:r1", "open")]


def test_a_wider_cause_takes_over_the_narrower_ones_as_its_children() -> None:
    story = Story().during(1, 3, *RNICS).during(4, 6, TOR)
    parents = {doc.component: doc.parent for doc in story.newest.values()}
    (top,) = [doc for doc in story.newest.values() if doc.parent is None]
    assert top.component == "tor:asw1"
    assert parents == {"tor:asw1": None, "rnic:r1": top.incident_id, "rnic:r2": top.incident_id}
    assert top.incident_id == story.written[0].incident_id, "the first one is renamed, not closed"
    assert top.version == 2


@pytest.mark.parametrize(
    ("begins", "names"),
    [(0, {"tor:asw1"}), (12, {"tor:asw1"}), (13, {"rnic:r1", "tor:asw1"})],
)  # what began 25 s ago or earlier is not known any better
def test_a_wider_slowness_takes_over_only_what_began_with_it(begins: int, names: set[str]) -> None:
    story = Story().during(1, 30, verdict("rnic:r1", range(4), symptom="high_latency"))
    story.during(31, 32, verdict(first=begins, symptom="high_latency"))
    assert {doc.component for doc in story.newest.values()} == names


@pytest.mark.parametrize(
    ("earliest", "names"), [(0, {"spine:s"}), (29, {"link:spine:s|tor:a", "spine:s"})]
)
def test_a_wider_loss_takes_over_what_its_probes_deny_unless_they_say_that_it_began_later(
    earliest: int, names: set[str]
) -> None:
    """Probes are rare: the spine's verdict holds hardly any of the paths that were bad before."""
    link = "link:spine:s|tor:a"
    story = Story().during(1, 30, verdict(link, range(4)))
    spine = replace(
        verdict("spine:s", range(3, 9), first=29), contains=frozenset({link}),
        denied=frozenset({link}), earliest_s=START_S + earliest,
    )  # fmt: skip
    story.second(31, spine)
    story.second(32, spine)
    assert {doc.component for doc in story.newest.values()} == names


def test_what_an_incident_may_have_meant_explains_it_once_another_incident_names_that() -> None:
    one, other = "link:spine:s|tor:a", "link:spine:s|tor:b"
    story = Story()
    for at in range(2):
        story.second(
            at,
            replace(verdict(one, range(5)), contains=frozenset(), possible=["spine:s"]),
            replace(verdict(other, range(10, 15)), contains=frozenset(), possible=["spine:s"]),
        )
    assert {doc.parent for doc in story.newest.values()} == {None}
    spine = replace(verdict("spine:s", range(4, 16)), contains=frozenset({one, other}))
    changed = story.second(5, spine)
    by_name = {doc.component: doc for doc in changed}
    assert by_name.keys() == {"spine:s", one}
    assert (by_name["spine:s"].parent, by_name[one].parent) == (
        None,
        by_name["spine:s"].incident_id,
    )
    assert story.second(6, spine) == []


@pytest.mark.parametrize(
    "worse", [{"effect": 1.0, "symptom": "unconnectivity"}, {"effect": 0.9, "symptom": "loss"}]
)
def test_a_part_that_is_worse_than_the_wider_component_explains_stays_by_itself(
    worse: dict[str, Any],
) -> None:
    """It may have meant the switch, but the switch loses a tenth of what it loses."""
    one, other = "link:spine:s|tor:a", "link:spine:s|tor:b"
    story = Story()
    for at in range(2):
        story.second(
            at,
            replace(verdict(one, range(5)), contains=frozenset(), possible=["spine:s"], **worse),
            replace(verdict(other, range(10, 15)), contains=frozenset(), possible=["spine:s"]),
        )
    spine = replace(verdict("spine:s", range(4, 16)), contains=frozenset({one, other}), effect=0.1)
    for at in (5, 6):
        story.second(at, spine)
    assert {doc.parent for doc in story.newest.values()} == {None}


def test_an_incident_that_could_not_mean_the_wider_component_stays_by_itself() -> None:
    one, other = "link:spine:s|tor:a", "link:spine:s|tor:b"
    story = Story()
    for at in range(2):
        story.second(
            at,
            replace(verdict(one, range(5)), contains=frozenset()),
            replace(verdict(other, range(10, 15)), contains=frozenset(), possible=["spine:s"]),
        )
    spine = replace(verdict("spine:s", range(10, 16)), contains=frozenset({one, other}))
    story.second(5, spine)
    assert {doc.parent for doc in story.newest.values()} == {None}


def test_a_wider_loss_that_denies_nothing_needs_the_paths_that_were_bad() -> None:
    link = "link:spine:s|tor:a"
    story = Story().during(1, 30, verdict(link, range(4)))
    spine = replace(verdict("spine:s", range(3, 9)), contains=frozenset({link}), earliest_s=START_S)
    story.second(31, spine)
    story.second(32, spine)
    assert {doc.component for doc in story.newest.values()} == {link, "spine:s"}


def test_the_children_close_with_their_own_calm() -> None:
    story = Story().during(1, 3, *RNICS).during(4, 6, TOR).calm(7, 40)
    assert {doc.state for doc in story.newest.values()} == {"resolved"}


def test_the_same_paths_under_another_name_must_keep_it_to_be_renamed() -> None:
    narrow = verdict("rnic:r1", range(9))
    story = Story().during(1, 3, TOR).during(4, 5, narrow)
    assert story.states == [("tor:asw1", "open")]
    flicker = Story().during(1, 3, TOR).during(4, 5, narrow).during(6, 6, TOR).during(7, 8, narrow)
    assert {name for name, _ in flicker.states} == {"tor:asw1"}
    story.during(6, 8, narrow)
    assert story.written[-1].component == "rnic:r1"
    assert len(story.newest) == 1


def test_components_that_probes_cannot_tell_apart_are_one_incident() -> None:
    rnic = verdict("rnic:r1", ties=["link:rnic:r1|tor:asw1"])
    link = verdict("link:rnic:r1|tor:asw1", ties=["rnic:r1"])
    story = Story().during(1, 3, rnic).during(4, 30, link)
    assert {doc.component for doc in story.written} == {"rnic:r1"}
    assert len(story.newest) == 1


def test_a_tie_set_that_probes_have_narrowed_is_written_at_once_and_stays_narrow() -> None:
    """The probes that told its members apart end; what they showed stays true."""
    wide = verdict(ties=["spine:dsw1", "spine:dsw2"])
    story = Story().during(1, 3, wide)
    assert len(story.written) == 1
    (narrowed,) = story.second(4, verdict(ties=["spine:dsw1"]))
    assert narrowed.tie_set == ["tor:asw1", "spine:dsw1"]
    story.during(5, 199, wide)
    (grown,) = story.second(200, verdict(bad=range(11), ties=["spine:dsw1", "spine:dsw2"]))
    assert grown.version == narrowed.version + 1
    assert grown.tie_set == narrowed.tie_set


def test_another_tie_set_than_the_known_one_replaces_it() -> None:
    story = Story().during(1, 199, verdict(ties=["spine:dsw1"]))
    (other,) = story.second(200, verdict(bad=range(11), ties=["spine:dsw2"]))
    assert other.tie_set == ["tor:asw1", "spine:dsw2"]


def test_latency_and_loss_of_one_component_are_two_incidents() -> None:
    story = Story().during(1, 3, verdict(), verdict(symptom="high_latency"))
    assert sorted(doc.symptom for doc in story.newest.values()) == ["high_latency", "loss"]


def test_a_verdict_of_a_lone_witness_belongs_to_the_incident_of_the_component_it_complains_of() -> (
    None
):
    def lone() -> Verdict:
        return replace(verdict("host:h1"), instead_of="tor:asw1")

    story = Story().during(1, 3, verdict("tor:asw1"))
    for second in range(4, 20):
        story.second(second, lone())
    assert {doc.component for doc in story.written} == {"tor:asw1"}


# --- renumbered paths and restarts ------------------------------------------------------------


def test_an_incident_follows_its_paths_when_they_are_renumbered() -> None:
    story = Story().during(1, 3, verdict("rnic:r1", [4, 5, 6]))
    story.tracker.renumber(np.array([-1, -1, -1, -1, 0, -1, 1]))
    story.during(4, 8, verdict("tor:asw1", [0, 1, 2, 3]))
    assert story.written[-1].component == "tor:asw1"
    assert len(story.newest) == 1, "path 4 and 6 are its paths still"


def test_the_bad_paths_of_a_document_are_those_that_are_left() -> None:
    story = Story().during(1, 3, verdict("rnic:r1", [4, 5, 6]))
    story.tracker.renumber(np.array([-1, -1, -1, -1, 0, -1, 1]))
    steps = (story.tracker.step(START_S + second, []) for second in range(4, 40))
    (bad,) = (rows for step in steps for doc, rows in step if doc.state == "resolved")
    assert bad.tolist() == [0, 1]


def restored(documents: list[Incident]) -> Story:
    tracker = IncidentTracker("f1", lateness_s=2.0, strategy="hypothesis")
    tracker.restore(documents)
    return Story(tracker)


def test_documents_of_a_former_process_are_not_written_again() -> None:
    before = Story().during(1, 20, verdict())
    after = restored(list(before.newest.values())).during(1, 20, verdict())
    assert after.written == []


def test_a_restored_incident_goes_on_where_the_former_process_ended() -> None:
    before = Story().during(1, 20, verdict())
    after = restored(list(before.newest.values())).during(1, 20, verdict()).calm(21, 40)
    (closed,) = after.written
    (known,) = Story().during(1, 20, verdict()).calm(21, 40).written[-1:]
    assert closed == known


def test_a_restored_incident_whose_trouble_is_over_is_closed() -> None:
    before = Story().during(1, 20, verdict())
    (closed,) = restored(list(before.newest.values())).calm(15, 40).written
    assert (closed.state, closed.version) == ("resolved", before.written[-1].version + 1)


def test_an_incident_that_the_former_process_had_not_written_opens() -> None:
    before = Story().during(1, 5, verdict())
    after = restored(list(before.newest.values())).during(1, 5, verdict())
    after.during(6, 9, verdict(), verdict("rnic:r9", range(100, 110), first=6))
    assert after.states[0] == ("rnic:r9", "open")


def test_a_resolved_incident_that_is_restored_may_reopen() -> None:
    before = Story().during(1, 5, verdict()).calm(6, 20)
    after = restored(list(before.newest.values())).during(1, 5, verdict()).calm(6, 20)
    after.during(25, 27, verdict(first=25))
    assert [doc.state for doc in after.written] == ["ongoing"]
    assert {*after.newest} == {*before.newest}


def test_one_of_many_culprits_is_not_taken_for_another_that_is_named_in_the_same_second() -> None:
    """A window that names many gives each its own bad paths, whatever those of an incident were."""
    for crowded, incidents in ((False, 1), (True, 2)):
        story = Story().during(0, 3, verdict("tor:asw1", range(20)))
        for second in range(4, 8):
            both = verdict("tor:asw2", range(10, 20)), verdict("tor:asw1", range(10))
            story.second(second, *(replace(each, crowded=crowded) for each in both))
        assert len(story.newest) == incidents


def beside(
    narrow: Verdict, *, apart: set[str] | None = None, idle: set[str] | None = None
) -> Verdict:
    return replace(narrow, beside=Beside(frozenset(apart or ()), frozenset(idle or ())))


def test_what_loses_beside_an_open_incident_has_one_of_its_own() -> None:
    """An rnic that dies below a ToR which loses: all of its paths are bad ones of the ToR."""
    rnic = beside(verdict("rnic:r1", range(4), first=8), apart={"tor:asw1"})
    story = Story().during(1, 3, TOR)
    for second in range(4, 16):
        story.second(second, TOR, *[rnic][: second >= 10])
    assert sorted(doc.component for doc in story.newest.values()) == ["rnic:r1", "tor:asw1"]


LINK = "link:agg:psw1|tor:asw1"
SWITCH = replace(TOR, contains=frozenset({LINK, "link:agg:psw2|tor:asw1"}))


def lossy_link(first: int) -> Verdict:
    """A link of the switch, which loses nothing besides; few of its bad paths were bad before."""
    return beside(
        replace(verdict(LINK, range(28, 36), first=first), contains=frozenset()), idle={"tor:asw1"}
    )


def test_what_explains_all_that_a_switch_lost_takes_over_its_incident() -> None:
    story = Story()
    for second in range(1, 12):
        story.second(second, SWITCH if second < 4 else lossy_link(first=0))
    assert [doc.component for doc in story.newest.values()] == [LINK]


def test_what_began_later_takes_over_no_incident() -> None:
    story = Story()
    for second in range(1, 16):
        story.second(second, SWITCH if second < 4 else lossy_link(first=9))
    assert sorted(doc.component for doc in story.newest.values()) == [LINK, "tor:asw1"]


def test_a_wider_cause_that_leaves_an_incident_nothing_takes_it_over_by_other_bad_paths() -> None:
    """Of rare probes each second shows other losses: the paths in common say little."""
    rnic = replace(verdict("rnic:r1", range(4)), contains=frozenset())
    wide = replace(verdict("spine:s1", range(3, 9)), contains=frozenset({"rnic:r1"}))
    both, one = {"rnic:r1", "spine:s1"}, {"spine:s1"}
    for found, names in ((wide, both), (beside(wide, idle={"rnic:r1"}), one)):
        story = Story()
        for second in range(1, 9):
            story.second(second, rnic if second < 3 else found)
        assert {doc.component for doc in story.newest.values()} == names


def test_children_of_a_switch_are_not_those_of_the_link_that_takes_over_its_incident() -> None:
    one, two = (
        replace(
            verdict(f"link:agg:psw{n}|tor:asw1", range(40 * n, 40 * n + 6)), contains=frozenset()
        )
        for n in (1, 2)
    )
    both = [
        beside(one, apart={two.component}, idle={"tor:asw1"}),
        beside(two, apart={one.component}),
    ]
    story = Story()
    for second in range(1, 4):
        story.second(second, SWITCH)
    story.second(4, both[1])
    story.second(5, both[1])
    assert sum(doc.parent is not None for doc in story.newest.values()) == 1
    for second in range(6, 12):
        story.second(second, *both)
    assert {doc.component: doc.parent for doc in story.newest.values()} == {
        "link:agg:psw1|tor:asw1": None, "link:agg:psw2|tor:asw1": None,
    }  # fmt: skip


def test_a_verdict_that_is_likelier_wrong_than_right_opens_no_incident() -> None:
    doubtful = replace(TOR, confidence=0.03, tie_set_probability={"tor:asw1": 0.03, "rnic:r1": 0.2})
    story = Story()
    for second in range(1, 9):
        story.second(second, doubtful)
    assert not story.written
    story.during(9, 11, TOR)
    assert [doc.opened_at for doc in story.written] == [at(0)]


def test_of_a_wide_tie_set_the_whole_is_what_must_be_likely() -> None:
    wide = replace(TOR, confidence=0.1, tie_set_probability={f"rnic:r{n}": 0.09 for n in range(10)})
    story = Story()
    for second in range(1, 4):
        story.second(second, wide)
    assert len(story.newest) == 1


def test_a_host_that_complained_alone_stays_a_child_of_what_explains_it() -> None:
    rnic = replace(verdict("rnic:r1", range(5)), contains=frozenset())
    alone = replace(verdict("host:h1", range(5, 9)), instead_of="spine:s9")
    wide = replace(verdict("tor:asw2", range(20)), contains=frozenset({"rnic:r1"}))
    story = Story()
    for second in range(1, 9):
        story.second(second, rnic, alone)
    for second in range(9, 14):
        story.second(second, wide)
    assert [doc.component for doc in story.newest.values() if doc.parent] == ["host:h1"]


@pytest.mark.parametrize(
    ("later", "names"),
    [
        ("spine:s1", {"spine:s1"}), ("link:agg:a1|spine:s1", {"link:agg:a1|spine:s1"}),
        ("tor:asw1", {"spine:?", "tor:asw1"}), ("rnic:10.0.0.1", {"spine:?", "rnic:10.0.0.1"}),
    ],
)  # fmt: skip
def test_an_unseen_switch_gets_the_name_of_what_lies_above_the_tors_only(
    later: str, names: set[str]
) -> None:
    story = Story().during(0, 3, verdict("spine:?"))
    story.during(5, 6, verdict(later, range(20, 30), first=5))
    assert {each.component for each in story.newest.values()} == names
