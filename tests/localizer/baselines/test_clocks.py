"""Wrong clocks: off by the same for five seconds, not merely late."""

from __future__ import annotations

from localizer.baselines.clocks import ClockWatch


def wrong(*offsets: dict[str, float], every_s: int = 1) -> dict[str, float]:
    watch = ClockWatch()
    for n, skewed in enumerate(offsets):
        watch.observe(0, n * every_s, skewed)
    return watch.wrong()


def test_a_clock_is_wrong_when_it_is_off_by_the_same_for_five_seconds() -> None:
    assert wrong(*[{"h1": 3600.0}] * 5) == {}
    assert wrong(*[{"h1": 3600.0}] * 6) == {"h1": 3600.0}


def test_a_source_that_is_merely_late_is_off_by_ever_more() -> None:
    assert wrong(*[{"h1": -6.0 - n} for n in range(30)]) == {}


def test_a_clock_that_was_corrected_is_not_wrong() -> None:
    assert wrong(*[{"h1": 3600.0}] * 10, *[{}] * 4) == {}


def test_a_second_without_a_report_does_not_clear_a_clock() -> None:
    """A step that closes two seconds reports the clocks only with the last."""
    assert wrong(*[{"h1": 3600.0}, {}] * 6) == {"h1": 3600.0}
