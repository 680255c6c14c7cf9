"""The agent's log: one logfmt line per event on stderr, no secrets, at most 30 a minute per event.

``log_event`` never raises and never blocks: an unread log must not stop the probing.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from schemas.printable import printable

#: A write of at most this size does not block on a pipe that is ready to be written (PIPE_BUF).
_MAX_BYTES: Final = 4096
#: Lines of one event per minute; a list that changes all the time must not fill the disk.
_MAX_PER_EVENT: Final = 30
_MINUTE_S: Final = 60.0
_lock = threading.Lock()


class _Lost:
    """Lines that stderr did not accept since the process started."""

    count = 0


class _EventRate:
    """Lines of one event in the minute that began at ``since`` [monotonic s]."""

    __slots__ = ("left_out", "since", "written")

    def __init__(self, since: float) -> None:
        self.since, self.written, self.left_out = since, 0, 0


_rates: dict[str, _EventRate] = {}


def log_event(level: str, event: str, **fields: object) -> None:
    """Write ``time=… level=… event=… key=value …``.

    At most 30 lines of one event are written per minute; the first line after that minute has
    ``lines_left_out``, the number of the suppressed ones. A line that stderr does not accept at
    once (a full pipe whose reader hangs, a closed one) is dropped and counted by ``lines_lost``.
    """
    left_out = _suppressed_before(event)
    if left_out is None:
        return
    if left_out:
        fields["lines_left_out"] = left_out
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    parts = [f"time={now}", f"level={level}", f"event={printable(event)}"]
    parts += [f"{name}={_quoted(str(value))}" for name, value in fields.items()]
    with _lock:
        try:
            _write(" ".join(parts))
        except (OSError, ValueError):  # closed, broken or full
            _Lost.count += 1


def lines_lost() -> int:
    """Log lines that could not be written since the process started."""
    return _Lost.count


def _suppressed_before(event: str) -> int | None:
    """Lines of this event suppressed since the last written one; None: suppress this one too."""
    now = monotonic()
    with _lock:
        rate = _rates.setdefault(event, _EventRate(now))
        if now - rate.since >= _MINUTE_S:
            _rates[event] = fresh = _EventRate(now)
            fresh.written = 1
            return rate.left_out
        if rate.written >= _MAX_PER_EVENT:
            rate.left_out += 1
            return None
        rate.written += 1
        return 0


def _write(line: str) -> None:
    if sys.stderr is None:  # the process was started without one
        raise OSError("there is no stderr")
    try:
        descriptor = sys.stderr.fileno()
    except (OSError, ValueError):  # not a file: a test captures it
        print(line, file=sys.stderr, flush=True)
        return
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    if not any(ready & select.POLLOUT for _, ready in poll.poll(0)):
        raise BlockingIOError("stderr is full")
    os.write(descriptor, line.encode(errors="replace")[: _MAX_BYTES - 1] + b"\n")


def _quoted(text: str) -> str:
    text = printable(text.replace("\n", " ").replace("\r", " "))
    return '"' + text.replace('"', "'") + '"' if " " in text or not text else text
