"""P-values for whoever asks: uniform on clean data, small where something is broken."""

from __future__ import annotations

import numpy as np
from builders.clusters import Cluster, Second, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from localizer.options import Options, PValues

CLUSTER = Cluster(hosts=8)
BACKGROUND = 0.002


def told(seconds: int, seed: int, broken: str = "") -> list[PValues]:
    rng = np.random.default_rng(seed)
    heard: list[PValues] = []

    def weather(p: Path, _: int) -> Second:
        rate = 0.2 if broken in (p.src_asw, p.dst_asw) and broken else BACKGROUND
        return Second(sent=20, lost=int(rng.binomial(20, rate)))

    localizer = Localizer(topology=CLUSTER.topology, options=Options(on_p=heard.append))
    for at in range(seconds):
        observe(localizer, CLUSTER.second(at, weather))
    return heard


def test_on_clean_data_they_are_uniform() -> None:
    rng = np.random.default_rng(1)
    sample = []
    for each in told(150, 2):
        if each.family == "loss 5 s" and each.second % 5 == 0 and each.second % 150 > 60:
            some = each.expected > 1.0
            spread = rng.random(int(some.sum()))
            sample.append(each.above[some] + spread * (each.p - each.above)[some])
    p = np.concatenate(sample)
    assert len(p) > 200
    for level in (0.05, 0.25, 0.5, 0.75):
        assert abs((p < level).mean() - level) < 0.1


def test_where_something_is_broken_they_are_tiny() -> None:
    last = [each for each in told(20, 3, broken="asw10") if each.family == "loss 5 s"][-1]
    assert last.p.min() < 1e-12


def test_nobody_asks_nothing_is_computed() -> None:
    assert Options().on_p is None
