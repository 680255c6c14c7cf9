"""P-values of a second: uniform on clean data, small where a component is broken."""

from __future__ import annotations

import numpy as np
from builders.clusters import Cluster, Second, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from localizer.options import Options, PValues

CLUSTER = Cluster(hosts=8)
BACKGROUND = 0.002
SLOW_FROM = 240


def p_values(seconds: int, seed: int, broken: str = "", slow: str = "") -> list[PValues]:
    rng = np.random.default_rng(seed)
    heard: list[PValues] = []

    def weather(p: Path, at: int) -> Second:
        rate = 0.2 if broken in (p.src_asw, p.dst_asw) and broken else BACKGROUND
        late = slow in (p.src_asw, p.dst_asw) and slow and at >= SLOW_FROM
        return Second(sent=20, lost=int(rng.binomial(20, rate)), rtt_us=200.0 if late else 20.0)

    localizer = Localizer(topology=CLUSTER.topology, options=Options(on_p=heard.append))
    for at in range(seconds):
        windows = [CLUSTER.window(at + 1, weather)] if slow and at % 5 == 4 else []
        observe(localizer, [*windows, *CLUSTER.second(at, weather)])
    return heard


def test_p_values_are_uniform_on_clean_data() -> None:
    rng = np.random.default_rng(1)
    sample = []
    for each in p_values(150, 2):
        if each.family == "loss 5 s" and each.second % 5 == 0 and each.second % 150 > 60:
            some = each.expected > 1.0
            spread = rng.random(int(some.sum()))
            sample.append(each.above[some] + spread * (each.p - each.above)[some])
    p = np.concatenate(sample)
    assert len(p) > 200
    for level in (0.05, 0.25, 0.5, 0.75):
        assert abs((p < level).mean() - level) < 0.1


def test_the_p_value_of_a_lossy_tor_is_tiny() -> None:
    last = [each for each in p_values(20, 3, broken="asw10") if each.family == "loss 5 s"][-1]
    assert last.p.min() < 1e-12


def test_a_path_that_is_slow_outright_is_as_unlikely_as_the_detector_claims() -> None:
    heard = p_values(SLOW_FROM + 35, 4, slow="asw10")
    of = [each for each in heard if each.family == "slow outright 30 s"]
    before = [each for each in of if each.second < heard[0].second + SLOW_FROM]
    share = Options().detectors.latency.outright_share
    assert {float(p) for each in before for p in each.p} == {1.0}
    last = of[-1]
    assert (last.p == share).any()
    assert (last.above[last.p == share] == 0).all()
    assert (last.above[last.p == 1.0] == share).all()
