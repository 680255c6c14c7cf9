"""Precision in production, from the verdicts of people."""

from __future__ import annotations

import pytest
from builders.api_service import Put
from builders.schemas.incidents import INCIDENT, NIC, RESOLVED
from httpx import Client
from msgspec.structs import replace

from api.actions.feedback import wilson


def judge(client: Client, incident_id: str, verdict: str) -> None:
    body = {"kind": "feedback", "verdict": verdict, "by": "alice"}
    assert client.post(f"/api/v1/incidents/{incident_id}/actions", json=body).status_code == 201


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [
        (0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (8, 10, 0.4902, 0.9433),
        (80, 100, 0.7112, 0.8666),
    ],
)  # fmt: skip
def test_the_interval_is_wilsons(right: int, of: int, low: float, high: float) -> None:
    """Figures of statsmodels' proportion_confint(method="wilson")."""
    assert wilson(right, of) == pytest.approx((low, high), abs=1e-4)


def test_precision_is_by_kind_and_symptom_of_the_last_verdicts(client: Client, put: Put) -> None:
    put(INCIDENT, RESOLVED, NIC, *(replace(INCIDENT, incident_id=f"T{n}") for n in range(3)))
    judge(client, "BBBB", "false_alarm")
    judge(client, "BBBB", "right")
    for number, verdict in enumerate(("right", "right", "wrong_component")):
        judge(client, f"T{number}", verdict)
    found = client.get("/api/v1/feedback").json()
    assert [
        (each["kind"], each["symptom"], each["right"], each["wrong_component"], each["precision"])
        for each in found["items"]
    ] == [("tor", "loss", 2, 1, pytest.approx(2 / 3)), ("rnic", "unconnectivity", 1, 0, 1.0)]
    assert (found["total"]["right"], found["total"]["false_alarm"]) == (3, 0)
    assert found["items"][0]["low"] < 2 / 3 < found["items"][0]["high"]
    assert found["not_reviewed"] == 1, "AAAA is resolved, and no one said anything"


def test_the_time_and_fabric_of_incidents_limit_it(client: Client, put: Put) -> None:
    put(INCIDENT, NIC)
    judge(client, "AAAA", "right")
    judge(client, "BBBB", "false_alarm")
    for query, right, false in (
        ("fabric=f1", 1, 0), ("since=2026-01-31T12:05:00Z", 0, 1),
        ("until=2026-01-31T12:05:00Z", 1, 0), ("since=-1s", 0, 0),
    ):  # fmt: skip
        total = client.get(f"/api/v1/feedback?{query}").json()["total"]
        assert (total["right"], total["false_alarm"]) == (right, false), query


def test_a_time_that_ends_before_it_begins_is_refused(client: Client) -> None:
    """Answered with zeros, it would look like a time without verdicts."""
    for since in ("2026-01-31T12:00:00Z", "2026-01-31T13:00:00Z"):
        response = client.get(f"/api/v1/feedback?since={since}&until=2026-01-31T12:00:00Z")
        assert response.status_code == 422
        assert response.json()["detail"] == "since: since must be before until"


def test_without_verdicts_nothing_is_claimed(client: Client) -> None:
    total = client.get("/api/v1/feedback").json()["total"]
    assert (total["precision"], total["low"], total["high"]) == (None, 0.0, 1.0)


def test_verdicts_are_a_metric(client: Client, put: Put) -> None:
    put(INCIDENT)
    judge(client, "AAAA", "right")
    lines = client.get("/metrics").text.splitlines()
    assert 'skh_feedback_incidents{verdict="right"} 1.0' in lines
    assert 'skh_feedback_incidents{verdict="false_alarm"} 0.0' in lines
