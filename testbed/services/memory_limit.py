"""A cgroup, of version 1 or 2, whose processes get no more memory than its limit."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Final

_ROOT: Final = Path("/sys/fs/cgroup")
_VERSION_1: Final = _ROOT / "memory"


class MemoryLimit:
    """A group until the end of a ``with``; memory that a process had before it came is not counted.

    The kernel ends a process of the group (SIGKILL) when the group needs more.
    """

    def __init__(self, name: str, kilobytes: int) -> None:
        """Raises OSError where this machine does not let us make one."""
        version_1 = _VERSION_1.is_dir()
        self._above = _VERSION_1 if version_1 else _ROOT
        self._group = self._above / name
        self._group.mkdir()
        limit = "memory.limit_in_bytes" if version_1 else "memory.max"
        try:
            (self._group / limit).write_text(str(kilobytes * 1024))
        except OSError:
            self._group.rmdir()
            raise

    def add(self, pid: int) -> None:
        """Put a process with all its threads into the group."""
        (self._group / "cgroup.procs").write_text(str(pid))

    def __enter__(self) -> MemoryLimit:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        why: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pid in (self._group / "cgroup.procs").read_text().split():
            (self._above / "cgroup.procs").write_text(pid)
        self._group.rmdir()


def missing() -> str | None:
    """Why no group can be made here, or None."""
    if os.geteuid() != 0:
        return "only root can make cgroups"
    control = _ROOT / "cgroup.subtree_control"
    if _VERSION_1.is_dir() or (control.exists() and "memory" in control.read_text().split()):
        return None
    return "there is no cgroup with the memory controller"
