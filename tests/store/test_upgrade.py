"""A database of an earlier release: what it holds is in the views that came later."""

from __future__ import annotations

from time import monotonic

from builders.monitoring import path_windows
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import put_placement

from store import migrate
from store.client import Store

NOON = 1_769_860_800  # 2026-01-31 12:00
KNOWN = migrate.load()


def before(name: str) -> int:
    """How many migrations come before that of a name."""
    return [each.name for each in KNOWN].index(name)


def test_older_windows_are_of_their_jobs(store: Store) -> None:
    migrate.migrate(store, KNOWN[: before("throughput")])
    put_placement(store, "c1", "h1")
    store.insert("path_windows", path_windows.table([window(NOON, 1, layer="overlay")]))
    assert migrate.migrate(store) == KNOWN[before("throughput") :]
    for view in ("job_path_windows", "job_path_minutes"):
        assert store.rows(f"SELECT job FROM {view}") == [{"job": "llm"}]


def test_older_half_minutes_get_the_index_of_minutes(store: Store) -> None:
    migrate.migrate(store, KNOWN[: before("half_minutes_by_minute")])
    store.insert("path_windows", path_windows.table([window(NOON, 1)]))
    migrate.migrate(store)
    until = monotonic() + 300
    while store.rows("SELECT 1 FROM system.mutations WHERE NOT is_done"):
        assert monotonic() < until, "the index is not made"
    (part,) = store.rows(
        "SELECT secondary_indices_marks_bytes AS size FROM system.parts"
        " WHERE table = 'path_half_minutes' AND active"
    )
    assert part["size"] > 0
