"""The file to which ``slurm drain`` writes what it does, and which one run at a time may use."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Literal

from controller.slurm_drain.audit import AuditError, drained_in_hour, line
from controller.slurm_drain.plan import Action
from skeletonhunter.errors import BadInput

Outcome = Literal["begun", "done", "failed", "changed"]


class DrainRecord:
    """The audit's file.

    path      None: nothing was done before
    writable  whether lines will be added; else a file that is not there is as good as empty
    Raises BadInput.
    """

    def __init__(self, path: Path | None, writable: bool) -> None:
        self._path, self._fd = path, -1
        if path is None or (not writable and not path.exists()):
            return
        try:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT if writable else os.O_RDONLY
            self._fd = os.open(path, flags, 0o640)
            if writable:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._cut()
        except BlockingIOError as why:
            self.close()
            raise BadInput(f"{path}: another run of slurm drain uses it") from why
        except OSError as why:
            self.close()
            raise BadInput(f"{path}: {why.strerror}; give a file that can be written") from why

    def drained(self) -> int:
        """Nodes whose drain was begun in the last hour; raises BadInput."""
        try:
            return drained_in_hour(self._raw().splitlines(keepends=True), now_ms())
        except AuditError as why:
            raise BadInput(f"{self._path}: {why}") from why

    def write(self, action: Action, outcome: Outcome, detail: str = "") -> None:
        """Add a line; on disk when this returns."""
        os.write(self._fd, line(action, outcome, now_ms(), detail))
        os.fsync(self._fd)

    def close(self) -> None:
        """Let other runs use the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _raw(self) -> bytes:
        if self._fd < 0:
            return b""
        return os.pread(self._fd, os.fstat(self._fd).st_size, 0)

    def _cut(self) -> None:
        """Remove a last line without an end: its run was cut off before it did anything."""
        os.ftruncate(self._fd, self._raw().rfind(b"\n") + 1)


def now_ms() -> int:
    """[ms since the epoch]"""
    return time.time_ns() // 1_000_000
