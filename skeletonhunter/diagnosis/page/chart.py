"""Two lines over time as an SVG picture: bad paths beside all others. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

_WIDTH: Final = 460
_HEIGHT: Final = 120
_LEFT: Final = 52
_TOP: Final = 10
_BOTTOM: Final = 22


def chart(
    title: str,
    times_s: Sequence[float],
    bad: Sequence[float],
    others: Sequence[float],
    *,
    opened_s: float,
    closed_s: float | None,
    unit: str,
) -> str:
    """An SVG element; values that are NaN interrupt a line.

    bad, others         values of the bad paths and of all others, one for each time
    opened_s, closed_s  the incident's time is shaded; closed_s None: to the end
    unit                of the values, as the axis shows it
    """
    known = [value for value in (*bad, *others) if not math.isnan(value)]
    if not known or not times_s:
        return ""
    top = _nice(max(known)) or 1.0
    first, last = times_s[0], max(times_s[-1], times_s[0] + 1)

    def x(time_s: float) -> float:
        share = (min(max(time_s, first), last) - first) / (last - first)
        return _LEFT + share * (_WIDTH - _LEFT - 6)

    def y(value: float) -> float:
        return _TOP + (1 - value / top) * (_HEIGHT - _TOP - _BOTTOM)

    begin, end = x(opened_s), x(last if closed_s is None else closed_s)
    parts = [
        f'<rect class="during" x="{begin:.1f}" y="{_TOP}" width="{max(end - begin, 1):.1f}" '
        f'height="{_HEIGHT - _TOP - _BOTTOM}"/>',
        *(
            f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - 6}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g} '
            f"{escape(unit)}</text>"
            for v in (0, top)
        ),
    ]
    for name, values in (("others", others), ("bad", bad)):
        for run in _runs(times_s, values):
            if len(run) == 1:
                (time_s, value), *_ = run
                parts.append(
                    f'<circle class="{name}" cx="{x(time_s):.1f}" cy="{y(value):.1f}" r="2"/>'
                )
            else:
                points = " ".join(f"{x(t):.1f},{y(v):.1f}" for t, v in run)
                parts.append(f'<polyline class="{name}" points="{points}"/>')
    for time_s, anchor in ((first, "start"), (last, "end")):
        clock = datetime.fromtimestamp(time_s, UTC).strftime("%H:%M:%S")
        parts.append(
            f'<text x="{x(time_s):.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{clock}</text>'
        )
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'role="img" aria-label="{escape(title)}">{"".join(parts)}</svg></figure>'
    )


def _runs(times_s: Sequence[float], values: Sequence[float]) -> Iterator[list[tuple[float, float]]]:
    """Neighbouring points that are known."""
    run: list[tuple[float, float]] = []
    for time_s, value in zip(times_s, values, strict=True):
        if math.isnan(value):
            if run:
                yield run
            run = []
        else:
            run.append((time_s, value))
    if run:
        yield run


def _nice(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... and so on."""
    if value <= 0:
        return 0.0
    size: float = 10.0 ** math.floor(math.log10(value))
    return next(size * step for step in (1, 2, 5, 10) if size * step >= value * 0.999)
