"""A small file system of its own for a service's data, to be filled up."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

_FILLER: Final = "filler"
_STEPS: Final = (1 << 20, 4096)


class SmallDisk:
    """A tmpfs at a folder from construction until ``close``."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        """Raises OSError where this machine does not let us mount one."""
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(  # noqa: S603 — fixed arguments
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "skh-disk", str(folder)],  # noqa: S607
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise OSError(f"a tmpfs at {folder}: {done.stderr.strip()}")

    def fill(self) -> None:
        """Take all space that is left."""
        with (self._folder / _FILLER).open("ab", buffering=0) as filler:
            for size in _STEPS:
                try:
                    while True:
                        filler.write(bytes(size))
                except OSError:
                    continue  # no such piece is left

    def free(self) -> None:
        """Give the space back."""
        (self._folder / _FILLER).unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it, with all that is on it, once the last process has closed its files."""
        subprocess.run(  # noqa: S603 — fixed arguments
            ["umount", "--lazy", str(self._folder)],  # noqa: S607
            capture_output=True, check=False,
        )  # fmt: skip


def missing() -> str | None:
    """Why no file system can be mounted here, or None."""
    return None if os.geteuid() == 0 else "only root can mount a small file system"
