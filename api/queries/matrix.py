"""Who loses how much to whom: cells of ToRs, pods or hosts over the newest windows."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.documents import Cell, Matrix
from api.matrix_patterns import patterns
from api.queries.database import Store
from api.queries.times import Time

By = Literal["tor", "pod", "host"]
_COLUMN: Final[dict[By, str]] = {"tor": "asw", "pod": "pod", "host": "node_sn"}
#: Names of an axis, at most: a cell of a picture must have a pixel.
MOST_NAMES: Final = 1024
#: path_half_minutes has the windows that begin at second 0 and 30, which hold each probe once: a
#: sixth of path_windows.
_WINDOW_S: Final = 30


class MatrixFilters(BaseModel):
    """Which cells; an unknown parameter is an error."""

    model_config = ConfigDict(extra="forbid")

    by: By = Field("tor", description="What a row and a column are")
    fabric: str | None = Field(None, min_length=1, max_length=500, description="The only one")
    layer: Literal["overlay", "underlay"] | None = None
    seconds: int = Field(60, ge=30, le=3600, description="Length of the time that is added up")
    until: Time | None = Field(None, description="End of that time; the newest window without it")


class TooManyNames(ValueError):
    """An axis would have more than MOST_NAMES names."""


def matrix(store: Store, wanted: MatrixFilters) -> Matrix:
    """Cells with probes, sent from the first to the second name; raises TooManyNames."""
    end_s = _end_s(store, wanted)
    if end_s is None:
        return Matrix(by=wanted.by, since_s=None, until_s=None, names=[], cells=[], patterns=[])
    since_s = end_s - math.ceil(wanted.seconds / _WINDOW_S) * _WINDOW_S
    column = _COLUMN[wanted.by]
    where, values = _where(wanted)
    rows = store.rows(
        f"SELECT fabric, src_{column} AS src, dst_{column} AS dst, sum(sent) AS all_sent,"  # noqa: S608  # fixed
        " sum(lost) AS all_lost, quantile(0.5)(rtt_p50_us) AS p50 FROM path_half_minutes FINAL"
        " PREWHERE window_start >= toDateTime({since:Int64})"
        " AND window_start < toDateTime({until:Int64})"
        f" WHERE {where} GROUP BY fabric, src, dst",
        {**values, "since": since_s, "until": end_s},
    )
    if len({row["fabric"] for row in rows}) > 1:  # names are unique within a fabric only
        for row in rows:
            row |= {side: f"{row['fabric']}/{row[side]}" for side in ("src", "dst")}
    names = sorted({row[side] for row in rows for side in ("src", "dst")}, key=_natural)
    if len(names) > MOST_NAMES:
        raise TooManyNames(
            f"{len(names)} names on an axis, at most {MOST_NAMES} are shown; group by pod or tor,"
            " or choose a fabric"
        )
    place = {name: number for number, name in enumerate(names)}
    cells = [_cell(place, row) for row in rows if int(row["all_sent"])]
    cells.sort(key=lambda cell: (cell.src, cell.dst))
    return Matrix(
        by=wanted.by, since_s=since_s, until_s=end_s, names=names, cells=cells,
        patterns=patterns(names, cells),
    )  # fmt: skip


def _end_s(store: Store, wanted: MatrixFilters) -> int | None:
    """End of the newest complete window, on a boundary [s]; None where nothing is stored."""
    if wanted.until is not None:
        return _boundary(wanted.until)
    where, values = _where(wanted)
    (row,) = store.rows(
        "SELECT toUnixTimestamp(max(window_start)) AS newest, count() AS n FROM path_half_minutes"  # noqa: S608  # fixed
        f" WHERE {where} AND ingested_at > now() - 3600",
        values,
    )
    return int(row["newest"]) + _WINDOW_S if int(row["n"]) else None


def _natural(name: str) -> list[tuple[str, int]]:
    """Sorts t9 before t10: neighbours in the fabric stay neighbours in the picture."""
    parts = re.split(r"([0-9]+)", name)
    return [
        (text, int(number or 0))
        for text, number in zip(parts[::2], [*parts[1::2], ""], strict=True)
    ]


def _boundary(time: datetime) -> int:
    return int(time.timestamp()) // _WINDOW_S * _WINDOW_S


def _where(wanted: MatrixFilters) -> tuple[str, dict[str, Any]]:
    given = {name: getattr(wanted, name) for name in ("fabric", "layer")}
    given = {name: value for name, value in given.items() if value is not None}
    return " AND ".join(f"{name} = {{{name}:String}}" for name in given) or "1", given


def _cell(place: dict[str, int], row: dict[str, Any]) -> Cell:
    p50 = row["p50"]
    known = p50 is not None and math.isfinite(p50)
    return Cell(
        place[row["src"]], place[row["dst"]], int(row["all_sent"]), int(row["all_lost"]),
        round(float(p50), 3) if known else None,
    )  # fmt: skip
