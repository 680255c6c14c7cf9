"""Plots of the scorecard, drawn with matplotlib."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from evaluation.scorecard.plan import DEFAULT
from evaluation.scorecard.records import PathRow, PipelineRow, Row
from evaluation.scorecard.summary import grouped, urgency
from evaluation.scorecard.trials import calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DPI: Final = 90


class NoMatplotlib(ImportError):
    """matplotlib is not installed; one line."""


def require() -> None:
    """Raises NoMatplotlib where plots cannot be drawn; called before a long run."""
    if importlib.util.find_spec("matplotlib") is None:
        raise NoMatplotlib("matplotlib is not installed; run `make env`")


def draw(rows: Sequence[Row], directory: Path) -> list[str]:
    """Write a PNG file for each plot that has rows; returns the names without suffix.

    Figures are drawn without pyplot, so no display is needed.
    """
    require()
    from matplotlib.figure import Figure

    drawn = []
    paths = [row for row in rows if isinstance(row, PathRow)]
    if paths:
        settings = grouped(paths, lambda row: row.setting)
        figure = Figure(figsize=(2.6 * len(settings) + 1.2, 3.6), layout="constrained")
        axes = figure.subplots(1, len(settings), sharey=True, squeeze=False)[0]
        for at, (name, group) in zip(axes, settings.items(), strict=True):
            _strip(at, name, group)
        axes[0].set_ylabel("F1 of bad links")
        figure.savefig(directory / "settings.png", dpi=_DPI, metadata={"Software": None})
        drawn.append("settings")
    times: dict[str, list[float]] = {}
    for row in rows:
        if isinstance(row, PipelineRow) and row.strategy == DEFAULT:
            for fault in row.faults:
                if fault.seconds is not None:
                    times.setdefault(urgency(fault), []).append(fault.seconds)
    if times:
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        _cumulative(figure.subplots(), times)
        figure.savefig(directory / "times.png", dpi=_DPI, metadata={"Software": None})
        drawn.append("times")
    histograms = calibration.added(row.p_values for row in rows if isinstance(row, PipelineRow))
    if histograms:
        figure = Figure(figsize=(4.4, 4.2), layout="constrained")
        _quantiles(figure.subplots(), histograms)
        figure.savefig(directory / "calibration.png", dpi=_DPI, metadata={"Software": None})
        drawn.append("calibration")
    return drawn


def _strip(at: Axes, name: str, rows: Sequence[PathRow]) -> None:
    """A dot for each seed, a bar at the mean."""
    for place, (strategy, own) in enumerate(grouped(rows, lambda row: row.strategy).items()):
        f1 = np.array([row.f1 for row in own])
        spread = np.linspace(-0.22, 0.22, len(f1)) if len(f1) > 1 else np.zeros(1)
        colour = "C3" if strategy == DEFAULT else "C0"
        at.plot(place + spread, f1, ".", color=colour, markersize=3, alpha=0.7)
        at.plot([place - 0.3, place + 0.3], [f1.mean()] * 2, color=colour)
    labels = list(grouped(rows, lambda row: row.strategy))
    at.set_xticks(range(len(labels)), labels, rotation=75, fontsize=8)
    at.set_title(name, fontsize=9)
    at.set_ylim(-0.03, 1.03)
    at.grid(axis="y", alpha=0.3)


def _cumulative(at: Axes, times: dict[str, list[float]]) -> None:
    for name, seconds in sorted(times.items()):
        ordered = np.sort(seconds)
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        at.step(ordered, share, where="post", label=f"{name} ({len(ordered)})")
    at.set_xlabel("seconds from the fault's start to the incident")
    at.set_ylabel("share of faults found")
    at.set_xscale("log")
    at.grid(alpha=0.3, which="both")
    at.legend(fontsize=8)


def _quantiles(at: Axes, histograms: dict[str, list[int]]) -> None:
    """Points above the diagonal: p-values that are too small; below it: conservative ones."""
    furthest = 1.0
    for family, counts in sorted(histograms.items()):
        expected, observed = calibration.quantiles(counts)
        at.plot(expected, observed, ".-", markersize=3, label=f"{family} ({sum(counts):,} tests)")
        furthest = max(furthest, float(expected.max()), float(observed.max()))
    at.plot([0, furthest], [0, furthest], color="grey", linewidth=0.8)
    at.set_xlabel("expected $-\\log_{10} p$")
    at.set_ylabel("observed $-\\log_{10} p$")
    at.grid(alpha=0.3)
    at.legend(fontsize=8)
