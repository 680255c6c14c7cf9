"""A listening unix socket: for this user only unless its mode says more, a stale one replaced."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path


class RelayError(RuntimeError):
    """A socket cannot be served; one line: what, where, what to do."""


def listen(path: Path, mode: int = 0o600) -> socket.socket:
    """A non-blocking listening socket at ``path``; raises RelayError."""
    _remove_stale(path)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.bind(str(path))
        os.chmod(path, mode)  # before listen(): until then connections are refused
        server.listen(64)
        server.setblocking(False)
    except OSError as why:
        server.close()
        raise RelayError(
            f"{path}: {why.strerror or why}; give a short path in a writable directory"
        ) from why
    return server


def _remove_stale(path: Path) -> None:
    """Remove a socket file without a server; any other file at ``path`` is an error."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as why:
        raise RelayError(f"{path}: {why.strerror}; give a path in a readable directory") from why
    if not stat.S_ISSOCK(mode):
        raise RelayError(f"{path}: exists and is not a socket; give another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError:
            pass
    raise RelayError(f"{path}: another process serves it; stop that one or give another path")
