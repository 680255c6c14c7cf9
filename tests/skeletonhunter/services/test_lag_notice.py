"""One line when judging falls behind, one when it has caught up."""

from __future__ import annotations

from skeletonhunter.services.lag_notice import LagNotice


def test_a_lag_is_reported_once_and_so_is_its_end() -> None:
    notice = LagNotice(10)
    lines = [notice.line(lag_s) for lag_s in (0, 9, 11, 30, 9, 11, 6, 4, 0, 9, 12)]
    assert [bool(line) for line in lines] == [
        False, False, True, False, False, False, False, True, False, False, True,
    ]  # fmt: skip
    assert "11 s behind" in (lines[2] or "")
    assert lines[7] == "judging has caught up"


def lines_of(lags: list[float], *, catching_up: bool) -> list[str]:
    notice = LagNotice(10)
    lines = [notice.line(lag_s, catching_up=catching_up) for lag_s in lags]
    return [line for line in lines if line is not None]


def test_re_reading_after_a_start_is_no_overload_while_the_lag_shrinks() -> None:
    shrinking = [330.0 - 2 * look for look in range(165)]
    assert lines_of(shrinking, catching_up=True) == [
        "re-reading 330 s of skh.windows", "judging has caught up",
    ]  # fmt: skip


def test_a_worker_that_is_slower_than_its_input_is_behind_even_after_a_start() -> None:
    growing = [330.0 + look for look in range(40)]
    first, second = lines_of(growing, catching_up=True)
    assert first == "re-reading 330 s of skh.windows"
    assert "behind: this machine has too little time" in second


def test_a_lag_that_comes_later_is_reported_at_once() -> None:
    notice = LagNotice(10)
    assert notice.line(40, catching_up=True) == "re-reading 40 s of skh.windows"
    assert notice.line(1, catching_up=False) == "judging has caught up"
    assert "12 s behind" in (notice.line(12, catching_up=False) or "")


def test_a_lag_that_stays_after_re_reading_is_reported() -> None:
    notice = LagNotice(10)
    notice.line(40, catching_up=True)
    assert "20 s behind" in (notice.line(20, catching_up=False) or "")
