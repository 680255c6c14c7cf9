"""Evidence as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from localizer.fabric.path_table import Path

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]

_SYMPTOM = {
    "loss": "loses probes",
    "unconnectivity": "lets nothing through",
    "high_latency": "adds latency",
}


def crossing(component: str, bad: Bool, good: Bool, crosses: Bool) -> dict[str, object]:
    """The contrast that convinces: who crosses the component among the bad and among the good."""
    bad_crossing, bad_all = int((bad & crosses).sum()), int(bad.sum())
    good_crossing, good_all = int((good & crosses).sum()), int(good.sum())
    return {
        "text": f"{bad_crossing:,} of {bad_all:,} bad paths cross {component}; "
        f"{good_crossing:,} of {good_all:,} good ones do",
        "bad_crossing": bad_crossing,
        "bad": bad_all,
        "good_crossing": good_crossing,
        "good": good_all,
    }


def layers(overlay: Bool, lost: I64, sent: I64, crosses: Bool) -> dict[str, dict[str, int]]:
    """Overlay against underlay through the hosts concerned: {layer: {sent, lost}}."""
    out = {}
    for name, mask in (("overlay", overlay), ("underlay", ~overlay)):
        rows = mask & crosses
        out[name] = {"sent": int(sent[rows].sum()), "lost": int(lost[rows].sum())}
    return out


def examples(rows: I64, paths: Sequence[Path], most: int = 3) -> list[str]:
    """A few bad paths by name."""
    return [
        f"{p.layer} {p.src_node_sn} {p.src_ip}:{p.src_port} -> "
        f"{p.dst_node_sn} {p.dst_ip}:{p.dst_port}"
        for p in (paths[i] for i in rows[:most].tolist())
    ]


def effect(symptom: str, size: float) -> str:
    """How strong, with its unit."""
    if symptom == "high_latency":
        return f"{_SYMPTOM[symptom]}: +{size:.1f} us"
    return f"{_SYMPTOM.get(symptom, symptom)}: {100 * size:.1f} % lost"
