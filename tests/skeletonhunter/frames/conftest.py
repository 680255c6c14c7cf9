"""Files of a small cluster in which something breaks."""

from __future__ import annotations

import pytest

from testbed.scenarios.scenario import load
from testbed.simulator.files import Written, write


@pytest.fixture(scope="package")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Files of a cluster in which an rnic dies."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "one.toml").write_text(
        'proves = "a NIC goes down"\nduration_s = 30\n[fabric]\nname = "f"\nhosts = 8\nrails = 2\n'
        'hosts_per_segment = 4\n[[faults]]\nkind = "rnic_down"\ncomponent = "any rnic"\nat = 15\n'
    )
    simulation = load(str(folder / "one.toml")).simulation(seed=3, start_ns=1_767_225_600 * 10**9)
    return write(simulation, folder, 30, "parquet")
