"""A simulated cluster whose addresses are all of IPv6, through every file format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders.command_line import Command

SCENARIO = """
proves = "colons in names"
duration_s = 100
[fabric]
name = "f"
hosts = 12
rails = 2
hosts_per_segment = 4
aggs = 2
spines = 2
hosts_per_job = 6
ipv6 = true
[probing]
targets = 5
[[faults]]
kind = "rnic_down"
component = "any rnic"
at = 50
for = 30
"""


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "ndjson"])
def test_an_rnic_is_named_by_its_ipv6_address(
    command: Command, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    made = command("simulate", file, "--seed", "1", "--out", tmp_path, "--format", suffix)
    assert made.code == 0, made.err
    (truth,) = json.loads((tmp_path / "truth.json").read_text())
    assert truth["component"].startswith("rnic:2001:db8::")
    found = command(
        "diagnose", tmp_path / f"pings.{suffix}", "--topology", tmp_path / "topology.json",
        "--heartbeats", tmp_path / "heartbeats.ndjson", "--format", "json",
    )  # fmt: skip
    assert found.code == 1, found.err
    incidents: list[dict[str, Any]] = [json.loads(line) for line in found.out.splitlines()]
    assert [each["component"] for each in incidents if "component" in each] == [truth["component"]]


def test_a_topology_with_another_spelling_of_an_address_is_refused(
    command: Command, tmp_path: Path
) -> None:
    """Records would name another rnic."""
    file = tmp_path / "topology.json"
    host = {"node_sn": "h1", "rnics": [{"real_ip": "2001:DB8::0001"}]}
    file.write_text(json.dumps({"hosts": [host]}))
    pings = tmp_path / "pings.ndjson"
    pings.write_text("{}\n")
    found = command("diagnose", pings, "--topology", file)
    assert found.code == 2
    assert "'2001:DB8::0001' is 2001:db8::1 in its canonical spelling" in found.error_line
