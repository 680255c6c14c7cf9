"""From probes to an incident, and from counters to its culprit: the localizer as one object."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from builders.agents.host_evidence import counters
from builders.clusters import FINE, Cluster, Message, Second, Weather, newest, observe

from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from schemas.documents.requests.evidence import Evidence

CLUSTER = Cluster(hosts=8)
BAD_FROM, HEARD_AT, ALL = 10, 25, 40
RNIC = "r3.0"


def lossy() -> Weather:
    lost = Second(lost=1)
    return lambda p, at: lost if at >= BAD_FROM and RNIC in (p.src_real_ip, p.dst_real_ip) else FINE


def seconds(first: int, last: int, wanted: Weather) -> list[Message]:
    return [each for at in range(first, last) for each in CLUSTER.second(at, wanted)]


def about(incident: Incident, host: str = "h3") -> Evidence:
    found = counters(RNIC, {"rx_crc_errors_phy": 4}, {"rx_crc_errors_phy": 816}, host=host)
    return msgspec.structs.replace(found, incident_id=incident.incident_id)


def story(
    documents: Sequence[Evidence] | None, *, restart_at: int | None = None
) -> tuple[Incident, list[Incident]]:
    """The incident before and after evidence is heard; None: the counters of its rnic."""
    wanted = lossy()
    localizer = Localizer(topology=CLUSTER.topology)
    written = observe(localizer, seconds(0, HEARD_AT, wanted)).incidents
    (before,) = newest(written)
    heard = [about(before)] if documents is None else documents
    localizer.hear(heard)
    for at in range(HEARD_AT, ALL):
        if at == restart_at:
            localizer = Localizer(topology=CLUSTER.topology)
            localizer.restore(newest(written))
            again = observe(localizer, seconds(0, at, wanted)).incidents
            assert again == [], "nothing is written twice"
            localizer.hear(heard)
        written += observe(localizer, seconds(at, at + 1, wanted)).incidents
    return before, written


def test_damaged_frames_tell_the_cable_from_its_rnic() -> None:
    before, written = story(None)
    cable = f"link:rnic:{RNIC}|tor:asw10"
    assert {*before.tie_set} == {f"rnic:{RNIC}", cable}
    (after,) = newest(written)
    assert (after.component, after.issue_type) == (cable, "crc_error")
    assert "rx_crc_errors_phy +812" in str(after.evidence["text"])
    assert after.incident_id == before.incident_id


def test_without_evidence_and_with_that_of_another_host_the_verdict_is_the_same() -> None:
    before, plain = story([])
    _, foreign = story([about(before, host="h4")])
    assert foreign == plain
    assert all("host_evidence" not in each.evidence for each in plain)


def test_a_restart_at_any_time_changes_nothing() -> None:
    _, undisturbed = story(None)
    for at in (HEARD_AT + 1, HEARD_AT + 6):
        assert story(None, restart_at=at)[1] == undisturbed
