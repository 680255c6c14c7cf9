"""job_sla: minutes of each day in which an incident of the network affected a job."""

from __future__ import annotations

import msgspec
import pytest
from builders.schemas.incidents import CHILD, INCIDENT, PIPELINE

from schemas.documents.incident import Incident, encode
from store import migrate
from store.client import Store
from streams.sink import rows as sink_rows


@pytest.fixture
def migrated(store: Store) -> Store:
    migrate.migrate(store)
    return store


def closed(incident_id: str, opened_at: str, closed_at: str | None, **fields: object) -> Incident:
    """An incident of the job llm-70b that has ended, unless ``closed_at`` is None."""
    return msgspec.structs.replace(
        INCIDENT, incident_id=incident_id, opened_at=f"2026-01-{opened_at}Z",
        closed_at=None if closed_at is None else f"2026-01-{closed_at}Z",
        state="open" if closed_at is None else "resolved", **fields,
    )  # fmt: skip


def days(store: Store, *incidents: Incident) -> list[tuple[object, ...]]:
    """Day of January, incidents, bad and P0 minutes of each row."""
    for each in incidents:
        store.insert("incidents", sink_rows.incident(encode(each)))
    rows = store.rows(
        "SELECT toDayOfMonth(day) AS d, incidents, bad_minutes, p0_minutes, good_share FROM job_sla"
        " WHERE job = 'llm-70b' ORDER BY day"
    )
    for row in rows:
        assert row["good_share"] == pytest.approx(1 - row["bad_minutes"] / 1440)
    return [(row["d"], row["incidents"], row["bad_minutes"], row["p0_minutes"]) for row in rows]


def test_minutes_of_incidents_that_overlap_count_once(migrated: Store) -> None:
    assert days(
        migrated,
        closed("A", "31T12:00:30", "31T12:04:59"),
        closed("B", "31T12:03:00", "31T12:09:10"),
    ) == [(31, 2, 10, 0)]


def test_an_incident_across_midnight_counts_in_both_days(migrated: Store) -> None:
    assert days(migrated, closed("A", "30T23:58:00", "31T00:02:00")) == [
        (30, 1, 2, 0), (31, 1, 3, 0),
    ]  # fmt: skip


def test_minutes_of_severity_p0_are_told_apart(migrated: Store) -> None:
    assert days(
        migrated, closed("A", "31T12:00:00", "31T12:09:00"),
        closed("B", "31T12:04:00", "31T12:05:00", severity="P0"),
    ) == [(31, 2, 10, 2)]  # fmt: skip


def test_children_and_trouble_of_the_monitoring_itself_do_not_count(migrated: Store) -> None:
    agent = closed("X", "31T12:00:00", "31T12:09:00", kind="agent", component="agent:h1")
    pipeline = msgspec.structs.replace(PIPELINE, jobs=["llm-70b"])
    assert days(migrated, CHILD, agent, pipeline) == []


def test_the_newest_version_of_an_incident_counts(migrated: Store) -> None:
    late = closed("A", "31T12:00:00", "31T12:19:00")
    moved = msgspec.structs.replace(late, version=2, closed_at="2026-01-31T12:04:00Z")
    assert days(migrated, late, moved) == [(31, 1, 5, 0)]


def test_an_open_incident_counts_up_to_now_and_31_days_at_most(migrated: Store) -> None:
    rows = days(migrated, closed("A", "01T00:00:00", None))
    assert sum(int(str(bad)) for _, _, bad, _ in rows) == 31 * 1440 + 1
