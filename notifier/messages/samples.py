"""A made-up incident, for a test of a channel."""

from __future__ import annotations

from datetime import UTC, datetime

from schemas.documents.incident import Incident


def example(now: datetime | None = None) -> Incident:
    """An incident that says of itself that it is a test.

    now  when it begins; None: now
    """
    moment = (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Incident(
        incident_id=f"test-{moment}", version=1, state="open", fabric="test",
        component="tor:test", kind="tor", layer="underlay", symptom="loss", issue_type=None,
        direction="both", opened_at=moment, detected_at=moment, updated_at=moment, closed_at=None,
        severity="P2", confidence=0.5, p_value=1.0, tie_set=["tor:test"], parent=None,
        paths_bad=0, paths_total=0,
        evidence={"text": "This is a test of a notification channel; nothing is wrong."},
    )  # fmt: skip
