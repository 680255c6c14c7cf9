"""The picture of a skeleton: throughput ordered by cluster, and the graph of stages."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skeletonhunter.skeleton.documents import Job

_DPI: Final = 110
_SUFFIXES: Final = (".png", ".svg", ".pdf")
_SECONDS: Final = 300  # of the heat map, the newest ones
_ROWS: Final = 2048


def require(out: Path) -> None:
    """Raises BadInput where the picture cannot be drawn; called before the inference."""
    if out.suffix not in _SUFFIXES:
        raise BadInput(f"--plot {out}: the name ends in {', '.join(_SUFFIXES)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise BadInput("--plot needs matplotlib: pip install 'skeletonhunter[plot]'")


def draw(jobs: list[Job], out: Path) -> None:
    """One row of two drawings per job; raises OSError."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 1 + 5 * len(jobs)), layout="constrained")
    axes = figure.subplots(len(jobs), 2, squeeze=False, width_ratios=(2, 1))
    for (left, right), job in zip(axes, jobs, strict=True):
        _heat_map(left, job)
        _graph(right, job)
    figure.savefig(out, dpi=_DPI)


def _heat_map(at: Axes, job: Job) -> None:
    found = job.found
    order = np.lexsort((found.rnic, found.cluster, found.stage))
    shown = order[:: max(1, len(order) // _ROWS)]
    at.set_facecolor("lightgrey")
    rate = job.given.tx[found.rnic[shown], -_SECONDS:] / 1e9
    image = at.imshow(
        np.ma.masked_invalid(rate), aspect="auto", interpolation="nearest", cmap="viridis"
    )
    edges = np.flatnonzero(np.diff(found.stage[shown]))
    for edge in edges:
        at.axhline(edge + 0.5, color="white", linewidth=0.8)
    at.set_xlabel("second")
    at.set_ylabel("rnics by stage and cluster")
    at.set_title(f"{job.document.job or 'one rhythm'}: GB/s sent, grey: no sample", fontsize=9)
    at.figure.colorbar(image, ax=at, shrink=0.8)


def _graph(at: Axes, job: Job) -> None:
    """Clusters as points by stage, a line for each two clusters between which pairs are."""
    found, document = job.found, job.document
    at.set_axis_off()
    if document.declined:
        at.text(0.5, 0.5, document.declined, ha="center", va="center", wrap=True, fontsize=9)
        return
    cluster = dict(zip(found.rnic.tolist(), found.cluster.tolist(), strict=True))
    stage = dict(zip(found.cluster.tolist(), found.stage.tolist(), strict=True))
    numbers = sorted(number for number in stage if number >= 0)
    height: dict[int, int] = {}
    seen: dict[int, int] = {}
    for number in numbers:
        height[number] = seen.get(stage[number], 0)
        seen[stage[number]] = height[number] + 1
    lines = {(cluster[a], cluster[b]) for a, b in found.pairs.tolist()}
    for a, b in sorted(lines):
        if a != b:
            at.plot([stage[a], stage[b]], [height[a], height[b]], color="C0", linewidth=0.8)
    at.scatter([stage[n] for n in numbers], [height[n] for n in numbers],
               s=60, color="C3", zorder=3)  # fmt: skip
    at.set_title(
        f"DP {document.dp}, TP x PP {document.tp_pp}, {document.stages} stages (left to right)\n"
        f"confidence {document.confidence:.2f}, fidelity {document.fidelity:.2f}, "
        f"{document.targets:.1f} targets an rnic", fontsize=9,
    )  # fmt: skip
    at.margins(0.15)
