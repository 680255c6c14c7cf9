"""Who loses how much to whom, and what it looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import httpx
import pytest
from builders.monitoring.path_windows import window

from api.documents import Cell
from api.matrix_patterns import patterns
from api.queries import matrix
from schemas.documents.times import seconds_of
from store.client import Store

NOON = int(seconds_of("2026-01-31T12:00:00Z"))
UNTIL = {"until": "2026-01-31T12:01:00Z"}
PutWindows = Callable[..., None]


def cells(client: httpx.Client, **parameters: str) -> dict[str, Any]:
    response = client.get("/api/v1/matrix", params={**UNTIL, **parameters})
    assert response.status_code == 200
    return dict(response.json())


def test_each_probe_is_in_one_cell_once(client: httpx.Client, put_windows: PutWindows) -> None:
    put_windows(
        *(window(NOON + begin, 1, lost=3) for begin in range(0, 60, 5)),
        window(NOON, 2, src_asw="t2", dst_asw="t1", rtt_p50_us=30.0),
        window(NOON + 60, 1, lost=30), window(NOON - 30, 1, lost=30),
    )  # fmt: skip
    found = cells(client)
    assert found["names"] == ["t1", "t2"]
    assert found["cells"] == [[0, 1, 60, 6, 10.0], [1, 0, 30, 0, 30.0]]
    assert (found["since_s"], found["until_s"]) == (NOON, NOON + 60)


def test_cells_are_of_half_minutes_which_are_kept_for_longer_than_windows(
    client: httpx.Client, put_windows: PutWindows, store: Store
) -> None:
    for records in (12, 30, 20):  # a replayed window: the version with most records holds
        put_windows(window(NOON, 1, records=records, sent=records, lost=3))
    store.execute("TRUNCATE TABLE path_windows")
    assert cells(client)["cells"] == [[0, 1, 30, 3, 10.0]]


@pytest.mark.parametrize(
    ("by", "names"), [("tor", ["t1", "t2"]), ("pod", ["p1", "p2"]), ("host", ["h1", "h2"])]
)
def test_cells_are_of_tors_pods_or_hosts(
    client: httpx.Client, put_windows: PutWindows, by: str, names: list[str]
) -> None:
    put_windows(window(NOON, 1))
    assert cells(client, by=by)["names"] == names


def test_names_are_in_the_order_of_their_numbers(
    client: httpx.Client, put_windows: PutWindows
) -> None:
    put_windows(window(NOON, 1, src_asw="t10-2"), window(NOON, 2, src_asw="t10-11", dst_asw=""))
    assert cells(client)["names"] == ["", "t2", "t10-2", "t10-11"]


def test_a_fabric_and_a_layer_can_be_chosen(client: httpx.Client, put_windows: PutWindows) -> None:
    put_windows(window(NOON, 1), window(NOON, 2, fabric="f2", layer="overlay", src_asw="t8"))
    assert cells(client, fabric="f2")["names"] == ["t2", "t8"]
    assert cells(client, layer="underlay")["names"] == ["t1", "t2"]


def test_switches_of_two_fabrics_are_two_although_their_names_are_equal(
    client: httpx.Client, put_windows: PutWindows
) -> None:
    put_windows(window(NOON, 1), window(NOON, 2, fabric="f2", lost=30))
    assert cells(client)["names"] == ["f1/t1", "f1/t2", "f2/t1", "f2/t2"]


def test_without_a_time_the_newest_windows_are_shown(
    client: httpx.Client, put_windows: PutWindows
) -> None:
    assert client.get("/api/v1/matrix").json()["since_s"] is None
    put_windows(window(NOON + 4020, 1), window(NOON + 4030, 1))
    assert client.get("/api/v1/matrix").json()["until_s"] == NOON + 4050


def test_more_names_than_pixels_are_refused_with_what_to_do(
    client: httpx.Client, put_windows: PutWindows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "MOST_NAMES", 1)
    put_windows(window(NOON, 1))
    response = client.get("/api/v1/matrix", params=UNTIL)
    assert response.status_code == 413
    assert "group by pod or tor" in response.json()["detail"]


def test_an_unknown_grouping_is_refused(client: httpx.Client) -> None:
    assert client.get("/api/v1/matrix?by=rack").status_code == 422


# --- patterns ----------------------------------------------------------------------------------

NAMES = ["t1", "t2", "t3", "t4", "t5"]


def grid(bad: Iterable[tuple[int, int]], lost: int = 30) -> list[Cell]:
    """All cells with 100 probes; the bad ones lose so many."""
    which = {*bad}
    return [
        Cell(src, dst, 100, lost * ((src, dst) in which), 10.0)
        for src in range(5) for dst in range(5)
    ]  # fmt: skip


def cross(number: int) -> set[tuple[int, int]]:
    return {(a, b) for a in range(5) for b in range(5) if number in (a, b)}


def test_nothing_lost_is_normal() -> None:
    assert patterns(NAMES, grid([])) == ["Normal: none of 25 cells loses more than 1 %."]
    assert patterns([], []) == ["No probes in this time."]


def test_a_row_and_column_that_answers_nothing_is_down() -> None:
    assert patterns(NAMES, grid(cross(1), lost=100)) == [
        "t2 is down: nothing to or from it is answered."
    ]


def test_a_row_and_column_that_loses_some_is_a_failure_of_that_name() -> None:
    assert patterns(NAMES, grid(cross(2))) == ["t3 loses probes to and from the others."]
    assert patterns(NAMES, grid(cross(0) | cross(4))) == [
        "t1, t5: each loses probes to and from the others."
    ]


def test_a_row_or_column_alone_is_a_loss_one_way() -> None:
    assert patterns(NAMES, grid((3, b) for b in range(5))) == [
        "t4 loses what it sends to the others."
    ]
    assert patterns(NAMES, grid((a, 3) for a in range(5))) == [
        "t4 loses what the others send to it."
    ]


def test_losses_between_all_names_and_inside_none_are_a_spine_failure() -> None:
    off = [(a, b) for a in range(5) for b in range(5) if a != b]
    assert patterns(NAMES, grid(off)) == [
        "Spine failure: probes between them are lost, probes inside each are not."
    ]


def test_scattered_cells_are_counted() -> None:
    assert patterns(NAMES, grid([(0, 1), (2, 3)])) == [
        "2 of 25 cells lose more than 1 %, no whole row and column."
    ]


def test_two_lost_probes_are_no_pattern() -> None:
    assert patterns(NAMES, grid(cross(1), lost=2))[0].startswith("Normal")
