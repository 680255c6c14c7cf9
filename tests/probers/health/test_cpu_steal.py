"""The heartbeat: stolen CPU time."""

from __future__ import annotations

from pathlib import Path

from probers.health.heartbeat import CpuSteal


def test_stolen_cpu_time_is_a_share_of_the_elapsed_time(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 100 800 0 0 0 0 0 0\n")
    steal = CpuSteal(stat)
    stat.write_text("cpu  150 0 100 825 0 0 0 25 0 0\n")
    assert steal.read() == 0.25
    assert steal.read() == 0.0, "nothing passed since"
    stat.unlink()
    assert steal.read() == 0.0
