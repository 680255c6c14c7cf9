"""CPU time that is withheld from the agent: by the hypervisor, or by a limit of its cgroup."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_STEAL_FIELD: Final = 7  # user nice system idle iowait irq softirq steal
#: Bytes that are read of files that are read every second: all of those of groups, and more than
#: the first line of /proc/stat.
_READ: Final = 16_384
#: Throttled time in a cgroup's cpu.stat, and its unit [ns]: version 2, version 1.
_THROTTLED: Final = {"throttled_usec": 1_000, "throttled_time": 1}


class CpuSteal:
    """Share of CPU time that the hypervisor withheld since the last reading, 0..1."""

    def __init__(self, path: Path = Path("/proc/stat")) -> None:
        self._path = path
        self._last = self._times()

    def read(self) -> float:
        """Share since the last call; 0 where the system does not report it (not Linux)."""
        now, then = self._times(), self._last
        self._last = now
        total = sum(now) - sum(then)
        if total <= 0 or len(now) <= _STEAL_FIELD or len(then) <= _STEAL_FIELD:
            return 0.0
        return min(1.0, max(0.0, (now[_STEAL_FIELD] - then[_STEAL_FIELD]) / total))

    def _times(self) -> list[int]:
        fields = _begin(self._path).partition("\n")[0].split()
        try:  # guest times, after steal, are already part of user and nice
            return [int(field) for field in fields[1 : _STEAL_FIELD + 2]]
        except ValueError:
            return []


class CpuThrottling:
    """Share of time in which this process's cgroup, or one above it, had used up its quota, 0..1.

    The kernel adds up the time of all CPUs, so a group of several busy threads reaches 1 early.
    """

    def __init__(self, proc: Path = Path("/proc/self")) -> None:
        self._proc, self._cgroup = proc, proc / "cgroup"
        self._membership = ""
        self._stats: list[Path] = []
        self._last: dict[Path, tuple[int, int]] = {}  # cpu.stat -> when read, throttled [ns]

    def read(self, now_ns: int) -> float:
        """Share since the last call, at monotonic time ``now_ns``; 0 at the first one, and where
        there is no limit."""
        membership = _begin(self._cgroup)
        if membership != self._membership:
            self._membership = membership
            self._stats = _stat_files(membership, _text(self._proc / "mountinfo"))
            self._last.clear()
        worst = 0.0
        for path in self._stats:
            throttled_ns = _throttled_ns(_begin(path))
            then_ns, before_ns = self._last.get(path, (now_ns, throttled_ns))
            self._last[path] = (now_ns, throttled_ns)
            if now_ns > then_ns:
                worst = max(worst, (throttled_ns - before_ns) / (now_ns - then_ns))
        return min(1.0, worst)


class CpuWithheld:
    """The larger one of both shares since the last reading."""

    def __init__(self) -> None:
        self._steal, self._throttling = CpuSteal(), CpuThrottling()

    def read(self, now_ns: int) -> float:
        """Share since the last call, 0..1, at monotonic time ``now_ns``."""
        return max(self._steal.read(), self._throttling.read(now_ns))


def _stat_files(membership: str, mountinfo: str) -> list[Path]:
    """cpu.stat of the groups of /proc/self/cgroup, and of all groups above them that can be seen
    here: a pod's limit is that of the group above its containers."""
    found: list[Path] = []
    for line in membership.splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        for root, mount in _mounts(mountinfo, unified=not controllers):
            below = Path(group).relative_to(root) if Path(group).is_relative_to(root) else Path()
            found += [mount / each / "cpu.stat" for each in (below, *below.parents)]
    return [path for path in dict.fromkeys(found) if path.exists()]


def _mounts(mountinfo: str, *, unified: bool) -> list[tuple[Path, Path]]:
    """(root, mount point) of cgroup version 2, or of version 1's cpu controller."""
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        place, filesystem = before.split(), after.split()
        if len(place) < 5 or len(filesystem) < 3:
            continue
        kind, options = filesystem[0], filesystem[2].split(",")
        if (kind == "cgroup2") if unified else (kind == "cgroup" and "cpu" in options):
            found.append((Path(place[3]), Path(place[4])))
    return found


def _throttled_ns(stat: str) -> int:
    for line in stat.splitlines():
        name, _, value = line.partition(" ")
        if name in _THROTTLED and value.isdecimal():
            return int(value) * _THROTTLED[name]
    return 0


def _begin(path: Path) -> str:
    """The first _READ bytes; without a file object, which takes twice as long."""
    try:
        fileno = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fileno, _READ).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(fileno)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
