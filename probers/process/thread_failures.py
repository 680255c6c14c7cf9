"""An exception that ends a thread ends the agent: no thread is lost silently."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from probers.process.log import log_event


class ThreadFailures:
    """Records the first thread that an exception ended, and calls ``stop``.

    This is the last resort: threads handle the errors that they expect. An agent without its
    publisher or its list poller would go on sending heartbeats and mislead; an agent that ends is
    restarted by its supervisor.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        #: Thread, exception and place of the first failure; None while there is none.
        self.first: str | None = None

    def install(self) -> ThreadFailures:
        """Set ``threading.excepthook``."""
        threading.excepthook = self._on_failure
        return self

    def _on_failure(self, args: threading.ExceptHookArgs) -> None:
        name = args.thread.name if args.thread is not None else "unknown"
        why = f"thread {name}: {describe_error(args.exc_value, args.exc_traceback)}"
        log_event("error", "thread-died", why=why)
        self.first = self.first or why
        self._stop()


def describe_error(error: BaseException | None, trace: TracebackType | None = None) -> str:
    """Type, text and innermost place of an exception, in one line."""
    trace = trace or (error.__traceback__ if error is not None else None)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{type(error).__name__}: {error}{where}"
