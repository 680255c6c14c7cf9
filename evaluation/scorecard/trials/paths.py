"""One draw of a published setting: how well each strategy names the bad links."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from evaluation.scorecard import tuned_baselines
from evaluation.scorecard.records import PathRow
from localizer.strategies import Strategy
from testbed.scenarios import published


def run(
    setting: str,
    seed: int,
    names: Sequence[str],
    get: Callable[[str, str], Strategy] = tuned_baselines.get,
) -> list[PathRow]:
    """Run all strategies on the same evidence, one after another."""
    drawn = published.trial(setting, seed)
    paths, components = drawn.evidence.incidence.shape
    rows = []
    for name in names:
        strategy = get(name, setting)
        blames, error = [], None
        started = time.process_time()
        try:
            blames = strategy(drawn.evidence)
        except Exception as why:  # an error is the strategy's result; the others still run
            error = f"{type(why).__name__}: {why}"
        seconds = time.process_time() - started
        precision, recall, f1 = published.score(drawn, blames) if error is None else (0.0, 0.0, 0.0)
        rows.append(
            PathRow(
                setting=setting, seed=seed, strategy=name, paths=paths, components=components,
                bad=len(drawn.bad), blamed=len({blame.column for blame in blames}),
                precision=precision, recall=recall, f1=f1, seconds=round(seconds, 4), error=error,
            )
        )  # fmt: skip
    return rows
