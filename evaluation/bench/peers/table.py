"""The table of peers, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final, NamedTuple

from evaluation.bench.peers.registry import PEERS
from evaluation.machine import machine

_HEAD: Final = (
    "| engine | version | records/s/core, median (spread) | ratio to ours | does less or more |\n"
    "|---|---|---|---|---|"
)


class Load(NamedTuple):
    """Load of the machine before and after, of one minute [processes]."""

    before: float
    after: float


def table(
    names: Sequence[str],
    found: Mapping[str, Sequence[Mapping[str, Any]]],
    why: Mapping[str, str],
    load: Load,
) -> str:
    """A row an engine.

    found  by name, the results of ``measure``, one a run
    why    by name, why an engine has no result
    """
    rates = {name: [run["rate"] for run in runs] for name, runs in found.items()}
    ours = median(rates["ours"]) if rates.get("ours") else None
    rows = []
    for name in names:
        peer = PEERS[name]
        if name in why:
            rows.append(f"| {peer.title} | | {why[name]} | | {peer.does} |")
            continue
        middle = median(rates[name])
        spread = f"{middle:,.0f} ({min(rates[name]):,.0f} to {max(rates[name]):,.0f})"
        ratio = "" if ours is None else f"{middle / ours:.2g}"
        version = found[name][0]["version"]
        rows.append(f"| {peer.title} | {version} | {spread} | {ratio} | {peer.does} |")
    runs = max(map(len, found.values()), default=0)
    head = (
        f"Machine: {machine()}; {runs} runs of each engine in turn; "
        f"load {load.before:.1f} before, {load.after:.1f} after"
    )
    return "\n".join([head, "", _HEAD, *rows, ""])
