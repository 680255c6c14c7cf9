"""CPU time that the hypervisor or a cgroup's quota withholds."""

from __future__ import annotations

from pathlib import Path

import pytest

from probers.health.cpu_withheld import CpuSteal, CpuThrottling

SECOND = 1_000_000_000


def test_stolen_cpu_time_is_a_share_of_the_elapsed_time(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 100 800 0 0 0 0 0 0\n")
    steal = CpuSteal(stat)
    stat.write_text("cpu  150 0 100 825 0 0 0 25 0 0\n")
    assert steal.read() == 0.25
    assert steal.read() == 0.0, "nothing passed since"
    stat.unlink()
    assert steal.read() == 0.0


class Process:
    """The files of a process whose groups are folders of this test."""

    def __init__(self, folder: Path, version: int) -> None:
        self.version, self.proc, self.mount = version, folder / "proc", folder / "cgroup"
        self.proc.mkdir()
        self.mount.mkdir()
        kind = (
            ("cgroup2", "cgroup2", "rw") if version == 2 else ("cgroup", "none", "rw,cpu,cpuacct")
        )
        (self.proc / "mountinfo").write_text(
            "21 1 8:1 / / rw - ext4 /dev/sda rw\n"
            f"30 21 0:27 / {self.mount} rw,nosuid shared:4 - {' '.join(kind)}\n"
            f"31 21 0:28 / {folder / 'memory'} rw - cgroup none rw,memory\n"
        )

    def enter(self, group: str) -> None:
        prefix = "0::" if self.version == 2 else "9:memory:/elsewhere\n4:cpu,cpuacct:"
        (self.proc / "cgroup").write_text(f"{prefix}{group}\n")

    def throttled(self, group: str, seconds: float) -> None:
        folder = self.mount / group.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        line = (
            f"throttled_usec {seconds * 1e6:.0f}" if self.version == 2
            else f"throttled_time {seconds * 1e9:.0f}"
        )  # fmt: skip
        (folder / "cpu.stat").write_text(f"nr_periods 70\nnr_throttled 3\n{line}\n")


@pytest.fixture(params=[1, 2], ids=["cgroup-1", "cgroup-2"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Process:
    return Process(tmp_path, request.param)


def test_throttled_time_is_a_share_of_the_time_since_the_last_reading(process: Process) -> None:
    process.enter("/agent")
    process.throttled("/agent", 7.0)
    throttling = CpuThrottling(process.proc)
    assert throttling.read(SECOND) == 0.0, "what was before the first reading is not known"
    process.throttled("/agent", 7.5)
    assert throttling.read(3 * SECOND) == 0.25
    assert throttling.read(4 * SECOND) == 0.0
    process.throttled("/agent", 19.5)
    assert throttling.read(5 * SECOND) == 1.0, "twelve CPUs were throttled at once"


def test_the_limit_of_a_group_above_counts(process: Process) -> None:
    """In Kubernetes a pod may have a limit besides those of its containers."""
    process.enter("/pod/agent")
    process.throttled("/pod", 0.0)
    process.throttled("/pod/agent", 0.0)
    throttling = CpuThrottling(process.proc)
    throttling.read(SECOND)
    process.throttled("/pod", 0.4)
    process.throttled("/pod/agent", 0.1)
    assert throttling.read(2 * SECOND) == 0.4


def test_a_process_that_is_moved_is_read_in_its_new_group(process: Process) -> None:
    process.enter("/old")
    process.throttled("/old", 9.0)
    process.throttled("/new", 5.0)
    throttling = CpuThrottling(process.proc)
    throttling.read(SECOND)
    process.enter("/new")
    assert throttling.read(2 * SECOND) == 0.0
    process.throttled("/new", 5.5)
    assert throttling.read(3 * SECOND) == 0.5


@pytest.mark.parametrize("missing", ["cgroup", "mountinfo", "cpu.stat", "throttled"])
def test_where_nothing_is_reported_nothing_is_withheld(process: Process, missing: str) -> None:
    process.enter("/agent")
    process.throttled("/agent", 1.0)
    if missing == "throttled":  # the root group has no quota
        (process.mount / "agent/cpu.stat").write_text("usage_usec 12\nuser_usec 4\n")
    elif missing == "cpu.stat":
        (process.mount / "agent/cpu.stat").unlink()
    else:
        (process.proc / missing).unlink()
    throttling = CpuThrottling(process.proc)
    assert [throttling.read(second * SECOND) for second in (1, 2, 3)] == [0.0] * 3
