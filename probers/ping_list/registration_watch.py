"""Registers changes of the ready containers while the list's thread waits for the controller."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from probers.ping_list.document import PingListError

_LOOK_S: Final = 0.5
_RETRY_S: Final = 5.0


class RegistrationWatch:
    """A thread. What fails is left to the next reading of the list, which registers too.

    register_changes  of the ``ControllerClient``
    """

    def __init__(self, register_changes: Callable[[], None]) -> None:
        self._register_changes = register_changes
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="registration", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; returns at once."""
        self._stop.set()

    def _run(self) -> None:
        wait_s = _LOOK_S
        while not self._stop.wait(wait_s):
            try:
                self._register_changes()
                wait_s = _LOOK_S
            except PingListError:
                wait_s = _RETRY_S
