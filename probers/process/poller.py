"""What the loop waits with: Python's selector, or the compiled helper, which serves sockets too."""

from __future__ import annotations

import selectors
from collections.abc import Callable
from typing import Any, Final, Protocol

from schemas.compiled import native

Callback = Callable[[], None]
#: Of a served socket: token, kind and what it is about (see ``probers.net.native_sockets``).
Result = tuple[Any, ...]
#: What is to be called, and with which arguments.
Ready = tuple[Callable[..., None], Result]

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_FOREVER: Final = -1


class Poller(Protocol):
    """Calls back when a descriptor is ready; for one thread."""

    def watch(self, fileno: int, callback: Callback, *, write: bool = False) -> None:
        """Call back whenever the descriptor can be read, or written."""

    def unwatch(self, fileno: int) -> None:
        """Undo ``watch``; before the descriptor is closed."""

    def wait(self, timeout_s: float | None) -> list[Ready]:
        """What is to be called now; empty after ``timeout_s``, or after a signal."""

    def close(self) -> None:
        """Release the poller's own descriptors."""


class PythonPoller:
    """Python's selector."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def watch(self, fileno: int, callback: Callback, *, write: bool = False) -> None:
        self._selector.register(fileno, _WRITE if write else _READ, callback)

    def unwatch(self, fileno: int) -> None:
        self._selector.unregister(fileno)

    def wait(self, timeout_s: float | None) -> list[Ready]:
        return [(key.data, ()) for key, _ in self._selector.select(timeout_s)]

    def close(self) -> None:
        self._selector.close()


class NativePoller:
    """The compiled helper.

    It answers requests while it waits, without Python. What Python has to know of served sockets
    rests up to 250 ms, until a timer or a descriptor is due anyway.
    """

    def __init__(self) -> None:
        """Only where the helper is installed."""
        assert native.module is not None  # noqa: S101  # as said
        self.native = native.module.Poller()
        self._watched: dict[int, Callback] = {}
        #: Token -> who gets its results, each field of one as an argument.
        self.handlers: dict[int, Callable[..., None]] = {}

    def watch(self, fileno: int, callback: Callback, *, write: bool = False) -> None:
        self.native.watch(fileno, write)
        self._watched[fileno] = callback

    def unwatch(self, fileno: int) -> None:
        del self._watched[fileno]
        self.native.unwatch(fileno)

    def wait(self, timeout_s: float | None) -> list[Ready]:
        results, ready = self.native.wait(_FOREVER if timeout_s is None else int(timeout_s * 1e9))
        handlers = self.handlers
        calls: list[Ready] = [
            (handlers[result[0]], result) for result in results if result[0] in handlers
        ]
        calls += [(self._watched[fileno], ()) for fileno in ready]
        return calls

    def close(self) -> None:
        self.native.close()


def make() -> Poller:
    """The compiled helper where it is installed and not switched off."""
    return PythonPoller() if native.why_not() else NativePoller()
