"""Whether judging goes on, by what skh.coverage says once a minute of event time."""

from __future__ import annotations

from collections.abc import Sequence


class JudgingProgress:
    """The newest second that was judged, of each fabric.

    behind_s  judging goes on while it is at most so old [s]
    fabrics   that must all be judged; empty: any one is enough
    """

    def __init__(self, behind_s: float, fabrics: Sequence[str] = ()) -> None:
        self._behind_s = behind_s
        self._fabrics = tuple(fabrics)
        self._judged_s: dict[str, float] = {}

    def judged(self, fabric: str, second_s: float, arrived_s: float) -> None:
        """A fabric was judged up to a second [s since the epoch].

        arrived_s  when the broker had that: a clock that is ahead must not hide that judging stops
        """
        second_s = min(second_s, arrived_s)
        self._judged_s[fabric] = max(second_s, self._judged_s.get(fabric, second_s))

    def why_not(self, now_s: float) -> str | None:
        """None while judging goes on; else one line."""
        for fabric in self._fabrics:
            if (why := self._why_not(fabric, now_s)) is not None:
                return why
        if self._fabrics:
            return None
        if not self._judged_s:
            return "no coverage has been reported: is a topology known?"
        newest = max(self._judged_s, key=lambda fabric: self._judged_s[fabric])
        return self._why_not(newest, now_s)

    def _why_not(self, fabric: str, now_s: float) -> str | None:
        judged_s = self._judged_s.get(fabric)
        if judged_s is None:
            return f"fabric {fabric} has not been judged"
        if now_s - judged_s > self._behind_s:
            return f"fabric {fabric} was judged last {now_s - judged_s:.0f} s ago"
        return None
