"""Which routes are in doubt when others have changed, and whose probes were of another route."""

from __future__ import annotations

import numpy as np
from builders.clusters import End, path, reply, request
from builders.incidences import directed_rows, incidence_of, routes_chunk

from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.path_table import Path

A = End("c1", "h1", "r1", "asw1")
B = End("c2", "h2", "r2", "asw2")
PATHS = [path(A, B, port=n, number=n) for n in range(10)]
OVERLAY = path(A, B, layer="overlay", port=99, number=10)


def trace(incidence: Incidence, paths: list[Path], over: str, second: int) -> list[int]:
    """Requests and replies of some paths; returns rows whose probes took another route before."""
    flows = [flow for p in paths for flow in ((request(p), ["asw1", over, "asw2"]),
                                              (reply(p), ["asw2", over, "asw1"]))]  # fmt: skip
    return np.flatnonzero(incidence.learn_routes(routes_chunk(flows), second)).tolist()


def known() -> Incidence:
    """Ten paths over s1, and one that is never traced."""
    incidence = incidence_of([*PATHS, OVERLAY], topology=None)
    assert trace(incidence, PATHS, "s1", 10) == []
    return incidence


def certain(incidence: Incidence, row: int) -> set[str]:
    """The spines that a path crosses for certain both ways."""
    crossed = directed_rows(incidence)[row].items()
    return {name for name, share in crossed if name.startswith("spine:") and share == (1.0, 1.0)}


def test_the_first_route_of_a_path_and_the_same_one_again_put_nothing_in_doubt() -> None:
    incidence = known()
    assert trace(incidence, PATHS, "s1", 70) == []
    assert all(certain(incidence, row) == {"spine:s1"} for row in range(10))


def test_one_changed_route_is_the_news_of_one_path() -> None:
    incidence = known()
    assert trace(incidence, PATHS[:1], "s2", 70) == [0]
    assert [certain(incidence, row) for row in (0, 1)] == [{"spine:s2"}, {"spine:s1"}]


def test_routes_are_in_doubt_when_others_leave_a_switch_until_they_are_traced_again() -> None:
    incidence = known()
    assert trace(incidence, PATHS[:3], "s2", 70) == [*range(11)]
    assert certain(incidence, 2) == {"spine:s2"}
    assert [certain(incidence, row) for row in range(3, 10)] == [set()] * 7
    assert trace(incidence, PATHS[3:5], "s1", 80) == [], "its probes since the doubt are of s1"
    assert trace(incidence, PATHS[5:6], "s2", 80) == []
    assert [certain(incidence, row) for row in (3, 5, 6)] == [{"spine:s1"}, {"spine:s2"}, set()]


def test_a_few_that_leave_among_many_that_stay_put_nothing_else_in_doubt() -> None:
    incidence = known()
    assert trace(incidence, PATHS[3:], "s1", 65) == []
    assert trace(incidence, PATHS[:1], "s2", 70) == [0]
    assert trace(incidence, PATHS[3:], "s1", 71) == []
    assert trace(incidence, PATHS[1:2], "s2", 72) == [1]
    assert certain(incidence, 9) == {"spine:s1"}


def test_a_route_that_was_traced_since_the_change_is_not_in_doubt() -> None:
    incidence = known()
    assert trace(incidence, PATHS[:1], "s2", 70) == [0]
    assert trace(incidence, PATHS[9:], "s1", 75) == []
    assert trace(incidence, PATHS[1:2], "s2", 80) == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert certain(incidence, 9) == {"spine:s1"}


def test_a_five_tuple_with_another_route_each_time_has_none() -> None:
    incidence = known()
    assert trace(incidence, PATHS[:1], "s2", 70) == [0]
    assert trace(incidence, PATHS[:1], "s1", 130) == []
    assert certain(incidence, 0) == set()
    for second in (190, 250):
        trace(incidence, PATHS[:1], "s1", second)
    assert certain(incidence, 0) == {"spine:s1"}, "it is steady again"
