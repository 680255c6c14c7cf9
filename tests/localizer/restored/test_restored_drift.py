"""A worker that starts holds an incident about drift until it remembers as much as the former."""

from __future__ import annotations

from builders.clusters import START_S, Cluster, observe

from localizer.baselines.drift import DriftBaselineParameters
from localizer.incidents.parameters import ClearTimes, IncidentParameters
from localizer.localizer import Localizer
from localizer.options import BaselineParameters, Options
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339, seconds_of

CLUSTER = Cluster(hosts=4, rails=1)
MEMORY_S, CLEAR_S = 240, 30
OPTIONS = Options(
    baselines=BaselineParameters(drift=DriftBaselineParameters(block_s=60, blocks=4)),
    incidents=IncidentParameters(clear_s=ClearTimes(drift=CLEAR_S)),
)
OPENED = rfc3339((START_S - 7_200) * 10**9)
INCIDENT = Incident(
    incident_id="aaaabbbbccccdddd", version=3, state="ongoing", fabric="f1",
    component="tor:asw10", kind="tor", layer="underlay", symptom="high_latency", issue_type=None,
    direction="both", opened_at=OPENED, detected_at=OPENED, updated_at=rfc3339(START_S * 10**9),
    closed_at=None, severity="P2", confidence=0.99, p_value=1e-12, tie_set=["tor:asw10"],
    parent=None, paths_bad=8, paths_total=16,
    evidence={"text": "", "effect": 0.6, "drift": {"percent": 3.0, "hours": 2.0}},
)  # fmt: skip


def test_growth_that_has_stopped_ends_it_after_that() -> None:
    localizer = Localizer(topology=CLUSTER.topology, options=OPTIONS)
    localizer.restore([INCIDENT])
    found = [
        incident
        for at in range(MEMORY_S + CLEAR_S + 30)
        for incident in observe(localizer, CLUSTER.second(at)).incidents
    ]
    (over,) = found
    assert (over.incident_id, over.state) == (INCIDENT.incident_id, "resolved")
    assert over.closed_at is not None
    assert abs(seconds_of(over.closed_at) - START_S - MEMORY_S) <= 2
