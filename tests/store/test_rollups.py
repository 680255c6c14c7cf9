"""Half minutes, ToR minutes and ToR hours: what is stored again, odd names, percentiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from builders.monitoring import path_windows
from builders.monitoring.path_windows import window

from store import migrate
from store.client import Store, open_store

NOON = 1_769_860_800  # 2026-01-31 12:00


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(open_store(f"chdb:{tmp_path_factory.mktemp('rollups') / 'store'}")) as opened:
        migrate.migrate(opened)
        yield opened


def test_a_window_that_is_stored_again_counts_once_by_path(store: Store) -> None:
    rows = path_windows.table([window(NOON, 1, lost=3), window(NOON + 5, 1, lost=3)])
    for _ in range(2):
        store.insert("path_windows", rows)
    (minute,) = store.rows("SELECT sent, lost FROM path_minutes")
    assert (minute["sent"], minute["lost"]) == (30, 3), "the window that begins at 5 is another's"
    (pair,) = store.rows("SELECT loss FROM tor_matrix")
    assert pair["loss"] == pytest.approx(0.1), "shares stay right where counts do not"


def test_hours_between_tors_are_the_sums_and_percentiles_of_their_minutes(store: Store) -> None:
    rows = [
        window(NOON + 60 * minute, 1, lost=minute // 60,
               rtt_p50_us=10.0 if minute % 60 < 58 else 900.0)
        for minute in range(120)
    ]  # fmt: skip
    for first in range(0, 120, 20):
        store.insert("path_windows", path_windows.table(rows[first : first + 20]))
    hours = store.rows("SELECT * FROM tor_matrix_hours ORDER BY hour")
    minutes = store.rows(
        "SELECT sum(sent) AS sent, sum(lost) AS lost, max(rtt_max_us) AS worst FROM tor_matrix"
        " GROUP BY toStartOfHour(minute) AS hour ORDER BY hour"
    )
    assert [(each["sent"], each["lost"], each["rtt_max_us"]) for each in hours] == [
        (each["sent"], each["lost"], each["worst"]) for each in minutes
    ]
    assert [each["lost"] for each in hours] == [0, 60]
    assert {each["rtt_p50_us"] for each in hours} == {10.0}
    assert {each["rtt_p99_us"] for each in hours} == {900.0}, "two minutes of sixty"


def test_the_version_of_a_window_with_most_records_wins(store: Store) -> None:
    for records in (30, 12):
        store.insert("path_windows", path_windows.table([window(NOON, 1, records=records)]))
    (minute,) = store.rows("SELECT records FROM path_minutes")
    assert minute["records"] == 30


def test_components_are_named_as_in_incidents(store: Store) -> None:
    store.insert("path_windows", path_windows.table([window(NOON, 1, src_asw="a|b%", dst_pod="")]))
    names = {row["component"] for row in store.rows("SELECT component FROM component_health")}
    assert names == {
        "rnic:10.0.0.1", "rnic:10.0.1.2", "host:h1", "host:h2", "tor:a%7Cb%25", "tor:t2", "pod:p1",
    }  # fmt: skip


def test_percentiles_weigh_windows_by_their_answers(store: Store) -> None:
    rows = [window(NOON, path, rtt_p50_us=10.0, rtt_count=100) for path in range(99)]
    store.insert(
        "path_windows", path_windows.table([*rows, window(NOON, 99, rtt_p50_us=900.0, rtt_count=1)])
    )
    (pair,) = store.rows("SELECT rtt_p50_us, rtt_p99_us FROM tor_matrix")
    assert (pair["rtt_p50_us"], pair["rtt_p99_us"]) == pytest.approx((10.0, 10.0), rel=0.01)


def test_probes_count_for_a_container_in_the_overlay_only_and_once_within_a_component(
    store: Store,
) -> None:
    rows = [
        window(NOON, 1, layer="overlay", lost=3, refused=2, dst_asw="t1", rtt_max_us=40.0),
        window(NOON, 2, dst_asw="t1", rtt_p50_us=30.0, rtt_max_us=50.0),
    ]
    store.insert("path_windows", path_windows.table(rows))
    found = {
        row["component"]: row for row in store.rows("SELECT * FROM component_health WHERE sent > 0")
    }
    tor, box = found["tor:t1"], found["container:c1"]
    assert (tor["kind"], tor["sent"], tor["lost"], tor["refused"], tor["paths"]) \
        == ("tor", 60, 3, 2, 2)  # fmt: skip
    assert (tor["loss"], tor["rtt_p50_us"], tor["rtt_max_us"]) == (0.05, 20.0, 50.0)
    assert (box["kind"], box["sent"], box["paths"]) == ("container", 30, 1)


def test_a_minute_without_probes_has_no_share_of_loss(store: Store) -> None:
    store.insert("path_windows", path_windows.table([window(NOON, 1, sent=0, rtt_count=0)]))
    for view in ("component_health", "tor_matrix", "tor_matrix_hours"):
        assert {row["loss"] for row in store.rows(f"SELECT loss FROM {view}")} == {None}
