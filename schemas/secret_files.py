"""Secret files (probe key, signing keys): read only if no other user has access."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 64 * 1024
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class SecretFileError(ValueError):
    """The file cannot be used as a secret; one line: path, reason, remedy. Never its content."""


def read_secret(path: Path | str, max_bytes: int = MAX_BYTES) -> bytes:
    """All bytes of the file, the final newline included; raises SecretFileError.

    Refused: a file to which its group or all users have any access (a POSIX ACL shows as the
    group's), a directory, a file longer than ``max_bytes``. Links are followed (Kubernetes mounts
    secrets as links). The mode is that of the opened file. A pipe, as of a shell's ``<(...)``, is
    read too, and its mode checked like a file's. Not refused: root's file that one group may read
    too, of which this process is a member without being root. So Kubernetes mounts a secret for a
    pod with an fsGroup; a file with another owner cannot be mounted there.
    """
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            mode = stat.S_IMODE(status.st_mode)
            if mode & _OTHERS and not _is_mounted_for_a_pod(status):
                raise SecretFileError(
                    f"{path}: group or other users have access to it (mode {mode:04o}); "
                    f"run: chmod 600 {path}"
                )
            content = file.read(max_bytes + 1)
    except OSError as why:
        raise SecretFileError(f"{path}: {why.strerror or why}; give a readable file") from why
    if len(content) > max_bytes:
        raise SecretFileError(f"{path}: longer than {max_bytes} B; is it the right file?")
    return content


def _is_mounted_for_a_pod(status: os.stat_result) -> bool:
    return (
        os.geteuid() != 0
        and status.st_uid == 0
        and status.st_gid != 0
        and status.st_gid in {os.getegid(), *os.getgroups()}
        and stat.S_IMODE(status.st_mode) & _OTHERS == stat.S_IRGRP
    )
