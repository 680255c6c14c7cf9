"""A worker that starts in the middle of a gray loss goes on with its incident.

It reads 330 s of the past: too little for windows of minutes, and no second of it is from before
the fault, above which a gray loss must have risen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from builders.clusters import START_S, Cluster, Message, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from localizer.options import Options
from localizer.restored.parameters import RestoredParameters
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of

CLUSTER = Cluster(hosts=8, rails=1)
BEGINS, STARTS, ENDS = 600, 1_300, 1_400  # the fault begins, the worker starts, the fault ends
REREAD_S = 330
LOSS = 0.003
NUMBERS = {each: number for number, each in enumerate(CLUSTER.paths)}


def seconds(which: range, rnic: str, probed_from: int) -> Iterator[list[Message]]:
    """Messages of some seconds, the same for each reader: an rnic loses a few of its probes.

    probed_from  second from which on the rnic is probed
    """

    def weather(p: Path, at: int) -> Second | None:
        if rnic not in (p.src_real_ip, p.dst_real_ip):
            return Second()
        if at < probed_from:
            return None
        if not BEGINS <= at < ENDS:
            return Second()
        return Second(lost=int(np.random.default_rng((at, NUMBERS[p])).binomial(4, LOSS)))

    return (CLUSTER.second(at, weather) for at in which)


def judged(localizer: Localizer, which: range, probed_from: int = 0) -> list[Incident]:
    """The newest document of each incident, from these seconds alone."""
    found: list[Incident] = []
    for messages in seconds(which, "r2.0", probed_from):
        found += observe(localizer, messages).incidents
    return newest(found)


@pytest.fixture(scope="module")
def incident() -> Incident:
    (found,) = judged(Localizer(topology=CLUSTER.topology), range(STARTS))
    return found


def restarted(
    incident: Incident, until: int, options: Options | None = None, probed_from: int = 0
) -> list[Incident]:
    localizer = Localizer(topology=CLUSTER.topology, options=options)
    localizer.restore([incident])
    return judged(localizer, range(STARTS - REREAD_S, until), probed_from)


def test_only_windows_of_minutes_show_it(incident: Incident) -> None:
    assert (incident.component, incident.state) == ("rnic:r2.0", "ongoing")
    assert incident.evidence["window_s"] >= 60
    never = Options(restored=RestoredParameters(longest_s=0))
    (closed,) = restarted(incident, ENDS, never)
    assert closed.state == "resolved"


def test_it_goes_on_while_it_loses(incident: Incident) -> None:
    assert all(each.state != "resolved" for each in restarted(incident, ENDS))


def test_it_goes_on_where_its_paths_are_not_probed_in_the_first_minute(incident: Incident) -> None:
    late = STARTS - REREAD_S + 60
    assert all(each.state != "resolved" for each in restarted(incident, ENDS, None, late))


def test_it_ends_where_nothing_crosses_it_any_more(incident: Incident) -> None:
    (over,) = restarted(incident, STARTS + 60, None, ENDS)
    assert (over.incident_id, over.state) == (incident.incident_id, "resolved")


def test_it_ends_when_its_probes_come_back(incident: Incident) -> None:
    (over,) = restarted(incident, ENDS + 400)
    assert (over.incident_id, over.state) == (incident.incident_id, "resolved")
    assert over.closed_at is not None
    assert 0 <= seconds_of(over.closed_at) - START_S - ENDS <= 300
