"""Whether an engine's window is ours: counts exactly, features within what float32 resolves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evaluation.bench.peers.engine import COUNTS, FEATURES, QUANTILES, U64, Engine, Second
from schemas import identity

#: Round trips are rounded to 1 ns and features to float32 in ours.
_RELATIVE: Final = 1e-5
_ABSOLUTE: Final = 2e-3  # [us]
#: Median over the paths of |approximate - exact| / exact quantile.
_APPROXIMATE: Final = 0.02


def windows(engine: Engine, seconds: Iterable[Second]) -> dict[int, pa.Table]:
    """All windows of an engine, by end_s, in its own keys."""
    parts: defaultdict[int, list[Any]] = defaultdict(list)
    engine.run(seconds, lambda end_s, part: parts[end_s].append(part))
    return {end_s: engine.table(found) for end_s, found in parts.items()}


def path_ids(engine: Engine, seconds: Iterable[Second]) -> dict[int, int]:
    """Key of the engine -> our path id."""
    out: dict[int, int] = {}
    for second in seconds:
        keys, ids = engine.keys(second.pings), identity.path_ids(second.pings)
        out |= dict(zip(keys.tolist(), ids.tolist(), strict=True))
    return out


def differences(
    ours: pa.Table, theirs: pa.Table, ids: dict[int, int], *, exact: bool = True
) -> list[str]:
    """What differs between a window of ours and of another engine; empty: nothing.

    ids    the other engine's key -> our path id
    exact  its quantiles are of our definition; else only their median error is bounded
    """
    place = np.array([ids.get(key, 0) for key in theirs["path"].to_pylist()], np.uint64)
    our_ids: U64 = ours["path"].to_numpy()
    if not np.array_equal(np.sort(place), np.sort(our_ids)):
        return [f"paths: {len(our_ids):,} in ours, {len(place):,} in the other"]
    order, other = np.argsort(our_ids), np.argsort(place)

    def both(name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        return _numbers(ours, name)[order], _numbers(theirs, name)[other]

    out = []
    for name in COUNTS:
        mine, found = both(name)
        if bad := int((mine != found).sum()):
            out.append(f"{name}: differs on {bad:,} paths")
    answered, _ = both("rtt_count")
    for name in FEATURES:
        mine, found = both(name)
        rows = answered > (1 if name == "std" else 0)  # of one sample ours is 0, others' undefined
        mine, found = mine[rows], found[rows]
        if name in QUANTILES and not exact:
            error = float(np.median(np.abs(found - mine) / mine)) if len(mine) else 0.0
            if not error <= _APPROXIMATE:
                out.append(f"{name}: median error {error:.1%}")
        elif bad := int((~np.isclose(mine, found, _RELATIVE, _ABSOLUTE)).sum()):
            out.append(f"{name}: differs on {bad:,} paths")
    return out


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.float64]:
    return np.array(table[name].to_numpy(zero_copy_only=False), np.float64)
