"""The key ring's file: read again when it changes, so that keys are rotated without a restart."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from schemas.secret_files import SecretFileError, read_secret
from schemas.signing.keys import KeyRing, SigningError
from streams.admission.parameters import DEFAULT

_log = logging.getLogger(__name__)


class KeyRingFile:
    """Calling it gives the ring of this moment; the file is looked at once a second at most.

    A changed file that cannot be used is logged once, and the ring before it stays in use.
    """

    def __init__(self, path: Path, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Raises SenderKeysError when the file cannot be used now."""
        self._path, self._clock_s = path, clock_s
        self._lock = threading.Lock()
        self._state = _state(path)
        self._looked_s = clock_s()
        self._ring = load(path)

    def __call__(self) -> KeyRing:
        with self._lock:
            now_s = self._clock_s()
            if now_s - self._looked_s >= DEFAULT.ring_every_s:
                self._looked_s = now_s
                state = _state(self._path)
                if state != self._state:
                    self._state = state
                    self._reload()
            return self._ring

    def _reload(self) -> None:
        try:
            self._ring = load(self._path)
        except SenderKeysError as why:
            _log.error("the sender keys stay as they were: %s", why)
        else:
            _log.info("%s: the sender keys were read again", self._path)


class SenderKeysError(ValueError):
    """The ring's file cannot be used; one line: where, what, what to do. Never a key."""


def load(path: Path) -> KeyRing:
    """The ring that a file holds; raises SenderKeysError."""
    try:
        return KeyRing.parse(read_secret(path).decode())
    except SecretFileError as why:
        raise SenderKeysError(str(why)) from None
    except SigningError as why:
        raise SenderKeysError(f"{path}: {why}") from None
    except UnicodeDecodeError:
        raise SenderKeysError(f"{path}: not UTF-8, so no key ring") from None


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
