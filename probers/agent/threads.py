"""No thread of the agent ends in silence: an exception that a thread dies of ends the agent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from probers.agent.log import say


class ThreadDeaths:
    """Remembers which thread died of what, and calls ``stop`` for an orderly end.

    The last resort: threads handle what they expect themselves. An agent without its publisher or
    its list would go on beating and probing, and mislead; one that ends is started again.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        #: Thread, exception and place of the first death; None while there is none.
        self.why: str | None = None

    def install(self) -> ThreadDeaths:
        """Take over ``threading.excepthook``."""
        threading.excepthook = self._died
        return self

    def _died(self, args: threading.ExceptHookArgs) -> None:
        name = args.thread.name if args.thread is not None else "unknown"
        why = f"thread {name}: {describe(args.exc_value, args.exc_traceback)}"
        say("error", "thread-died", why=why)
        self.why = self.why or why
        self._stop()


def describe(error: BaseException | None, trace: TracebackType | None = None) -> str:
    """Type, text and innermost place of an exception, in one line."""
    trace = trace or (error.__traceback__ if error is not None else None)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{type(error).__name__}: {error}{where}"
