"""The short-term latency detector on one series with labelled windows."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from localizer.detectors import single_series


class SeriesError(ValueError):
    """The series or its labels cannot be read; one line."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """found: for each labelled window the first alarm in it, or None; false: alarms outside."""

    windows: list[tuple[datetime, datetime]]
    found: list[datetime | None]
    false: list[datetime]
    points: int

    @property
    def perfect(self) -> bool:
        return None not in self.found and not self.false


def check(series: Path, labels: Path) -> Outcome:
    """Run the detector over a CSV (timestamp, value) and compare with a JSON list of windows.

    Raises SeriesError, OSError.
    """
    times, values = _read(series)
    windows = _windows(labels)
    alarms = [times[at] for at in single_series.alarms(single_series.scores(values)).tolist()]
    inside = [[at for at in alarms if start <= at <= end] for start, end in windows]
    return Outcome(
        windows,
        [min(each, default=None) for each in inside],
        [at for at in alarms if not any(start <= at <= end for start, end in windows)],
        len(values),
    )


def to_text(outcome: Outcome) -> str:
    """The outcome as lines of text."""
    lines = [
        f"{start} .. {end}  {'missed' if found is None else f'found at {found}'}"
        for (start, end), found in zip(outcome.windows, outcome.found, strict=True)
    ]
    lines += [f"false alarm at {at}" for at in outcome.false]
    found = sum(at is not None for at in outcome.found)
    return "\n".join(
        [*lines, f"{found} of {len(outcome.windows)} windows found, {len(outcome.false)} false "
         f"alarms in {outcome.points:,} points"]
    )  # fmt: skip


def _read(path: Path) -> tuple[list[datetime], np.ndarray]:
    times: list[datetime] = []
    values: list[float] = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            try:
                times.append(datetime.fromisoformat(row["timestamp"]))
                values.append(float(row["value"]))
            except (KeyError, TypeError, ValueError) as why:
                raise SeriesError(
                    f"{path}:{number}: {why}; columns are timestamp (ISO 8601) and value"
                ) from why
    if not values:
        raise SeriesError(f"{path}: no rows; give a CSV with columns timestamp and value")
    return times, np.array(values)


def _windows(path: Path) -> list[tuple[datetime, datetime]]:
    try:
        return [
            (datetime.fromisoformat(start), datetime.fromisoformat(end))
            for start, end in json.loads(path.read_bytes())
        ]
    except (TypeError, ValueError) as why:
        raise SeriesError(f"{path}: {why}; give a JSON list of [from, until]") from why
