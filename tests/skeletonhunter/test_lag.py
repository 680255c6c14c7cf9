"""One line when judging falls behind, one when it has caught up."""

from __future__ import annotations

from skeletonhunter.lag import LagNotice


def test_a_lag_is_told_of_once_and_so_is_its_end() -> None:
    notice = LagNotice(10)
    said = [notice.line(lag_s) for lag_s in (0, 9, 11, 30, 9, 11, 6, 4, 0, 9, 12)]
    assert [bool(line) for line in said] == [
        False, False, True, False, False, False, False, True, False, False, True,
    ]  # fmt: skip
    assert "11 s behind" in (said[2] or "")
    assert said[7] == "judging has caught up"
