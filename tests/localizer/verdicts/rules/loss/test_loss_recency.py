"""A component is blamed while it loses: what has ended, however well a window shows it, is over."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from scipy import sparse

from localizer.baselines.pane_history import PaneHistory
from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.observability import Classes
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss.containment import Containment
from localizer.verdicts.rules.loss.extent import Recency, bad_for, ended_already

START = 1_000_200  # a multiple of the bins
HEALTHY = 1e-4
PATHS = 20

Losses = Callable[[int], int]


def state_of(seconds: int, sent: Losses, lost: Losses) -> tuple[Any, int]:
    """A state after so many seconds, and the newest: what each path sends, path 0 loses."""
    history = PaneHistory(30)
    history.grow(PATHS)
    rows, none = np.arange(PATHS), np.zeros(PATHS, np.uint32)
    for second in range(seconds):
        dead = none.copy()
        dead[0] = lost(second)
        history.put(
            START + second, rows, np.full(PATHS, 20.0, np.float32),
            sent=none + np.uint32(sent(second)), lost=dead, refused=none,
        )  # fmt: skip
    return SimpleNamespace(
        history=history,
        background=SimpleNamespace(rate=HEALTHY, dispersion=1.0),
        options=SimpleNamespace(verdicts=SimpleNamespace(reachability=ReachabilityParameters())),
    ), START + seconds - 1


def still_loses(seconds: int, window_s: int, sent: Losses, lost: Losses) -> bool:
    state, at = state_of(seconds, sent, lost)
    all_sent, all_lost = (state.history.total(name, at, window_s) for name in ("sent", "lost"))
    share = np.ones(PATHS)
    recency = Recency(cast("Any", state), at, window_s, all_sent, elsewhere=np.zeros(PATHS, bool))
    losses = float(all_lost.sum())
    healthy = min(HEALTHY * float(all_sent.sum()), losses)
    return recency.still_loses(share, losses / window_s, healthy / window_s, HEALTHY)


def once_each(period: int, first: int = 0, end: int = 10**9) -> Losses:
    return lambda second: int(second % period == 0 and first <= second < end)


def every_second(_: int) -> int:
    return 1


def test_what_loses_all_along_still_loses() -> None:
    assert still_loses(240, 240, every_second, once_each(6))


def test_a_quiet_minute_ends_what_filled_the_window_before() -> None:
    """The newest two minutes hold losses enough, but none in their newer half."""
    assert still_loses(240, 240, every_second, once_each(3, 120, 240))
    assert not still_loses(240, 240, every_second, once_each(3, 120, 180))


def test_between_two_bursts_a_component_that_lost_in_the_last_one_still_loses() -> None:
    def bursts(second: int) -> int:
        return 100 * (second % 30 == 17)

    def lost(second: int) -> int:
        return 20 * (second % 30 == 17)

    assert still_loses(60, 30, bursts, lost), "twelve seconds after the newest burst"


def test_losses_of_a_long_window_that_all_came_lately_are_no_older() -> None:
    state, at = state_of(240, every_second, once_each(2, 225))
    assert bad_for(state, at, 240, np.array([0])) == state.history.seconds
    state, at = state_of(240, every_second, once_each(2, 125))
    assert bad_for(state, at, 240, np.array([0])) == 120


AGG, LINK, AT = 0, 1, 1000


def left_to_later_windows(column: int, window_s: int, ended_s: int, suspects: set[str]) -> bool:
    """Whether a class of a fabric, an agg and one of its links, is left to later windows where the
    incident of the agg has shown its last trouble at that second."""
    shares = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    groups = Classes(
        [["agg:a"], ["link:agg:a|tor:t"]], np.array([False, True]), np.zeros(2, bool),
        FactoredIncidence.unfactored(sparse.csr_array(shares)),
    )  # fmt: skip
    state = SimpleNamespace(
        history=SimpleNamespace(seconds=60), suspects=suspects, ended={"agg:a": ended_s}
    )
    inside = Containment(groups, np.ones(3, bool))
    return ended_already(cast("Any", state), AT, window_s, inside, column)


def test_what_a_link_lost_while_its_switch_was_dead_is_no_trouble_of_the_link() -> None:
    """Minutes later a long window still holds it, and a loss by chance made it a verdict."""
    assert left_to_later_windows(LINK, 270, AT - 229, set())


def test_a_link_is_judged_by_windows_that_begin_after_the_end_of_the_switchs_incident() -> None:
    assert not left_to_later_windows(LINK, 270, AT - 270, set())


def test_windows_of_seconds_an_open_incident_and_the_switch_itself_are_judged_at_once() -> None:
    assert not left_to_later_windows(LINK, 30, AT - 10, set())
    assert not left_to_later_windows(LINK, 270, AT - 229, {"link:agg:a|tor:t"})
    assert not left_to_later_windows(AGG, 270, AT - 229, set())
