"""More faults at once than one search a second can tell: they are judged less often, and named."""

from __future__ import annotations

from collections import defaultdict

import pytest
from builders.clusters import FINE, START_S, Cluster, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from localizer.options import Options
from localizer.state.fabric_state import FabricState
from localizer.verdicts.attribute import Unclaimed
from localizer.verdicts.rules import reachability
from localizer.verdicts.rules.loss.policy import LossPolicy

CLUSTER = Cluster(hosts=14)
PARAMETERS = Options().verdicts.reachability
BROKEN = {f"r{host}.{host // 2 % 2}" for host in range(1, 15, 2)}
FROM_S, UPTO_S = 5, 40


def lossy(p: Path, at: int) -> Second:
    crosses = (p.src_real_ip in BROKEN) + (p.dst_real_ip in BROKEN)
    return Second(lost=2 * crosses) if FROM_S <= at < UPTO_S else FINE


def test_a_window_with_many_culprits_is_judged_again_after_some_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged: defaultdict[int, list[int]] = defaultdict(list)
    attribute = reachability.attribute

    def noted(state: FabricState, policy: LossPolicy, unclaimed: Unclaimed) -> object:
        judged[policy.alarm.window_s].append(policy.at - START_S)
        return attribute(state, policy, unclaimed)

    monkeypatch.setattr(reachability, "attribute", noted)
    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(70):
        found += observe(localizer, CLUSTER.second(at, lossy)).incidents
    assert len(BROKEN) > PARAMETERS.few_culprits
    ended = newest(found)
    assert {each.component for each in ended} == {f"rnic:{name}" for name in BROKEN}
    assert {each.state for each in ended} == {"resolved"}
    assert len({each.incident_id for each in found}) == len(BROKEN), "none closes in between"
    for length in PARAMETERS.windows_s:
        while_lossy = [at for at in judged[length] if FROM_S + 5 <= at < UPTO_S - 5]
        assert len(while_lossy) <= (UPTO_S - FROM_S) // PARAMETERS.again_s + 1
