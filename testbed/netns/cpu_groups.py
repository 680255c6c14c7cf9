"""Cgroups with a quota of CPU time, of version 1 or 2, for processes of a fabric."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from testbed.netns.machine import PREFIX, FabricError, Process, alive

_ROOT: Final = Path("/sys/fs/cgroup")
_PERIOD_US: Final = 100_000


def make(name: str, percent: float) -> Path:
    """A new group whose processes get ``percent`` of one CPU between them; raises FabricError where
    this machine does not let us make one."""
    root, unified = _mount()
    group, quota_us = root / name, int(_PERIOD_US * percent / 100)
    try:
        group.mkdir()
        if unified:
            (group / "cpu.max").write_text(f"{quota_us} {_PERIOD_US}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    except OSError as why:
        remove(name)
        raise FabricError(f"cgroup {group}: {why.strerror}; cpu quota needs it") from why
    return group


def move(known: Process, group: Path) -> Path:
    """Put a process into a group and return the group that it was in; raises FabricError."""
    root, unified = _mount()
    try:
        lines = Path(f"/proc/{known.pid}/cgroup").read_text().splitlines()
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if (not controllers) if unified else ("cpu" in controllers.split(",")):
                before = root / path.lstrip("/")
                if alive(known):
                    (group / "cgroup.procs").write_text(str(known.pid))
                return before
    except OSError as why:
        raise FabricError(f"process {known.pid} into cgroup {group}: {why.strerror}") from why
    raise FabricError(f"process {known.pid} is in no cgroup of {root}")


def remove(name: str) -> None:
    """Remove a group, if there is one, and move its processes to the group above."""
    group = _mount()[0] / name
    if not group.is_dir():
        return
    for pid in (group / "cgroup.procs").read_text().split():
        try:
            (group.parent / "cgroup.procs").write_text(pid)
        except ProcessLookupError:
            continue  # it has ended meanwhile
    try:
        group.rmdir()
    except OSError as why:
        raise FabricError(f"cgroup {group}: {why.strerror}; rmdir it") from why


def present(prefix: str) -> list[str]:
    """Names of the groups with this prefix."""
    return sorted(path.name for path in _mount()[0].glob(f"{prefix}*") if path.is_dir())


def remove_stale() -> None:
    """Remove the groups of fabrics whose process has ended without closing them."""
    for name in present(PREFIX):
        match = re.match(rf"{PREFIX}-(\d+)-\d+-", name)
        if match and not Path(f"/proc/{match[1]}").exists():
            remove(name)


def missing() -> str:
    """Why no groups can be made here; "": they can."""
    if os.geteuid() != 0:
        return "root"
    root, unified = _mount()
    control = root / ("cgroup.subtree_control" if unified else "cpu.cfs_quota_us")
    if not control.exists() or (unified and "cpu" not in control.read_text().split()):
        return "a writable cgroup with the cpu controller"
    return "" if os.access(root, os.W_OK) else "a writable cgroup file system"


def _mount() -> tuple[Path, bool]:
    """Where the cpu controller is mounted, and whether it is version 2's."""
    if (_ROOT / "cgroup.controllers").exists():
        return _ROOT, True
    return _ROOT / "cpu", False
