"""simulate as a user types it: what it writes beside the pings, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pyarrow.parquet as parquet
import pytest
from builders.command_line import Command, CommandResult

from schemas.documents.placement import Placement

SCENARIO = """
proves = "jobs come and go"
duration_s = 600
[fabric]
name = "f"
hosts = 12
rails = 2
hosts_per_segment = 4
[jobs]
hosts = [4]
pp = 2
spare = 0.3
churn = 10.0
[probing]
skeleton = "layout"
"""


def simulate(command: Command, place: Path, text: str, *more: str) -> CommandResult:
    """Simulate a scenario of this text into the folder ``out``."""
    file = place / "scenario.toml"
    file.write_text(text)
    return command("simulate", file, "--out", place / "out", *more)


def test_throughput_placement_and_layout_are_written_beside_the_pings(
    command: Command, tmp_path: Path
) -> None:
    assert simulate(command, tmp_path, SCENARIO, "--duration", "60", "--throughput").code == 0
    out = tmp_path / "out"
    assert parquet.read_metadata(out / "throughput.parquet").num_rows == 60 * 12 * 2
    lines = (out / "placement.ndjson").read_bytes().splitlines()
    states = {msgspec.json.decode(line, type=Placement).state for line in lines}
    assert {"starting", "ready", "gone"} <= states
    jobs = json.loads((out / "layout.json").read_bytes())
    assert {(job["tp"], job["pp"]) for job in jobs} == {(2, 2)}


def test_throughput_is_written_on_request_only(command: Command, tmp_path: Path) -> None:
    assert simulate(command, tmp_path, SCENARIO, "--duration", "5").code == 0
    assert not (tmp_path / "out" / "throughput.parquet").exists()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ("pp = 2", "pp is 0; give at least 1"),
        ("hosts = [4]", "the first needs 40 hosts"),
        ("churn = 10.0", "unknown field `chrun`"),
    ],
)
def test_jobs_that_do_not_fit_are_one_line_and_code_2(
    command: Command, tmp_path: Path, wrong: str, complaint: str
) -> None:
    instead = {"pp = 2": "pp = 0", "hosts = [4]": "hosts = [40]", "churn = 10.0": "chrun = 1.0"}
    done = simulate(command, tmp_path, SCENARIO.replace(wrong, instead[wrong]))
    assert done.code == 2
    assert complaint in done.error_line


def test_simulate_lists_the_shipped_scenarios_and_what_they_prove(command: Command) -> None:
    done = command("simulate", "--list")
    assert done.code == 0
    assert "demo (290 s): Five different faults" in done.out
    assert "fat-tree-sparse (260 s): The published bar" in done.out
