"""Each engine's windows are ours on a small simulation, and what is not ours is seen."""

from __future__ import annotations

import pyarrow as pa
import pytest
from builders.simulated_fabrics import TWO_TIERS

from evaluation.bench.input import START_NS
from evaluation.bench.peers import flink
from evaluation.bench.peers.agreement import differences, path_ids, windows
from evaluation.bench.peers.engine import FEATURES, SECOND, WINDOW_S, Second
from evaluation.bench.peers.records import seconds
from evaluation.bench.peers.registry import PEERS
from testbed.faults.kinds import Fault
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import build

START_S = START_NS // SECOND
#: Here are ClickHouse and ours without compiled code; `make peers-bench` installs the others apart,
#: and compares the first window of each before it is measured.
OTHERS = [name for name, peer in PEERS.items() if name != "ours" and peer.installed]


@pytest.fixture(scope="module")
def records() -> list[Second]:
    """38 s in which one rnic is down for a while: there are lost probes, and paths without any."""
    topology = build(TWO_TIERS, 1)
    down = Fault(
        kind="rnic_down", component=f"rnic:{topology.hosts[0].rnics[0].real_ip}", start_s=0
    )
    simulation = Simulation(topology, seed=1, start_ns=START_NS, targets=4).with_faults([down])
    return list(seconds(simulation, 38))


@pytest.fixture(scope="module")
def ours(records: list[Second]) -> dict[int, pa.Table]:
    return windows(PEERS["ours"].load(), records)


@pytest.mark.parametrize("name", OTHERS)
def test_an_engine_has_the_windows_that_ours_has(
    name: str,
    records: list[Second],
    ours: dict[int, pa.Table],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peer = PEERS[name]
    for variable, value in peer.variables.items():
        monkeypatch.setenv(variable, value)
    if peer.apart:
        _, first, ids = flink.run(records)
        found = {START_S + WINDOW_S: first}
    else:
        engine = peer.load()
        found, ids = windows(engine, records), path_ids(engine, records)
    for end_s, window in found.items():
        if end_s in (START_S + WINDOW_S, START_S + WINDOW_S + 5):
            assert not differences(ours[end_s], window, ids, exact=peer.exact)
    assert START_S + WINDOW_S in found


def test_the_records_have_losses_and_paths_that_never_answered(
    ours: dict[int, pa.Table],
) -> None:
    window = ours[START_S + WINDOW_S]
    answered = window["rtt_count"].to_numpy()
    assert window["lost"].to_numpy().sum() > 0
    assert (answered == 0).any()
    assert (answered > 1).any()


@pytest.mark.parametrize("name", ["records", "lost", *FEATURES])
def test_one_other_number_is_a_difference(name: str, ours: dict[int, pa.Table]) -> None:
    window = ours[START_S + WINDOW_S]
    values = window[name].to_pylist()
    place = next(at for at, count in enumerate(window["rtt_count"].to_pylist()) if count > 1)
    values[place] += 1
    at = window.schema.get_field_index(name)
    other = window.set_column(at, name, pa.array(values, window.schema.field(at).type))
    ids = {key: key for key in window["path"].to_pylist()}
    assert differences(window, window, ids) == []
    assert differences(window, other, ids) == [f"{name}: differs on 1 paths"]


def test_a_path_too_few_is_a_difference(ours: dict[int, pa.Table]) -> None:
    window = ours[START_S + WINDOW_S]
    ids = {key: key for key in window["path"].to_pylist()}
    (found,) = differences(window, window.slice(1), ids)
    assert found.startswith("paths: ")
