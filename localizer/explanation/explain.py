"""The evidence of an attributed verdict: what its probes show, and the sentence for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.fabric.path_table import Path
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.verdict import Contrast, Verdict

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]

_SYMPTOM = {
    "loss": "loses probes",
    "unconnectivity": "lets nothing through",
    "high_latency": "adds latency",
}
#: Of a component that loses less, what lets nothing through are some of its five-tuples.
_TOTAL = ReachabilityParameters().total


def contrast(bad: Bool, good: Bool, crosses: Bool) -> Contrast:
    """How many paths cross a component, among the bad and among the good; all (P,)."""
    return Contrast(
        int((bad & crosses).sum()), int(bad.sum()), int((good & crosses).sum()), int(good.sum())
    )


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
    """How strong it is, with its unit."""
    if symptom == "high_latency":
        return f"{_SYMPTOM[symptom]}: +{size:.1f} us"
    what = _SYMPTOM.get(symptom, symptom)
    if symptom == "unconnectivity" and size < _TOTAL:
        what = "lets nothing of some five-tuples through"
    return f"{what}: {100 * size:.1f} % lost"


class Lone(NamedTuple):
    """The source host that complains most of a component that too few see at fault.

    seeing, probing  source hosts that see it at fault, and that probe it at all [count]
    needed           source hosts that it takes to blame the component
    """

    host: str
    seeing: int
    probing: int
    needed: int

    def sentence(self, component: str) -> str:
        """Why the verdict is about the host."""
        if self.probing == 1:
            return f"only {self.host} probes {component}, so either may be at fault"
        who = f"only {self.host} sees it"
        if self.seeing > 1:
            who = f"{self.seeing} source hosts see it, {self.host} most of all"
        return f"{who}, and it takes {self.needed} to blame {component}"


def sentence(verdict: Verdict, found: Contrast, window_s: int, lone: Lone | None = None) -> str:
    """The evidence of a verdict in one sentence.

    lone  the host that complains, where too few do; None: enough do
    """
    strength = f"{effect(verdict.symptom, verdict.effect)} (last {window_s} s)"
    if lone is not None and verdict.instead_of is not None:
        text = f"{lone.sentence(verdict.instead_of)}; {strength}"
    else:
        text = (
            f"{found.bad_crossing:,} of {found.bad:,} bad paths cross {verdict.component}; "
            f"{found.good_crossing:,} of {found.good:,} good ones do; {strength}"
        )
    if (drifted := verdict.drifted) is not None:
        text += (
            f"; drifted by {drifted.percent:+.1f} % in {drifted.hours:g} h while the others did not"
        )
    if verdict.untraced is not None:
        text += f"; {verdict.untraced.warning}"
    return text
