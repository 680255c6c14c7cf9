"""The agent's log: one logfmt line per change of state on stderr; no secrets, no repetition."""

from __future__ import annotations

import os
import select
import sys
import threading
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from schemas.printable import printable

#: One write of at most so much never blocks on a pipe that is ready to be written (PIPE_BUF).
_MAX_BYTES: Final = 4096
_one_at_a_time = threading.Lock()


#: So many lines of one event within a minute; a list that changes all the time must not fill disks.
_MAX_PER_EVENT: Final = 30
_MINUTE_S: Final = 60.0


class _Lost:
    """Lines that stderr did not take since the process started."""

    count = 0


class _Repeated:
    """Lines of one event in the minute that began at ``since`` [monotonic s]."""

    __slots__ = ("left_out", "said", "since")

    def __init__(self, since: float) -> None:
        self.since, self.said, self.left_out = since, 0, 0


_events: dict[str, _Repeated] = {}


def say(level: str, event: str, **fields: object) -> None:
    """Write ``time=… level=… event=… key=value …``, at most 30 lines of one event in a minute;
    the first one after that says how many were left out.

    Never raises and never waits: a line that stderr does not take at once (a pipe that is full
    because its reader hangs, or closed because it died) is counted by ``lines_lost`` instead.
    """
    left_out = _repetition(event)
    if left_out is None:
        return
    if left_out:
        fields["lines_left_out"] = left_out
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    parts = [f"time={now}", f"level={level}", f"event={printable(event)}"]
    parts += [f"{name}={_quoted(str(value))}" for name, value in fields.items()]
    with _one_at_a_time:
        try:
            _write(" ".join(parts))
        except (OSError, ValueError):  # closed, broken or full
            _Lost.count += 1


def lines_lost() -> int:
    """Log lines that could not be written since the process started."""
    return _Lost.count


def _repetition(event: str) -> int | None:
    """Lines of this event that were left out before this one; None: leave this one out too."""
    now = monotonic()
    with _one_at_a_time:
        past = _events.setdefault(event, _Repeated(now))
        if now - past.since >= _MINUTE_S:
            _events[event] = fresh = _Repeated(now)
            fresh.said = 1
            return past.left_out
        if past.said >= _MAX_PER_EVENT:
            past.left_out += 1
            return None
        past.said += 1
        return 0


def _write(line: str) -> None:
    if sys.stderr is None:  # started without one
        raise OSError("there is no stderr")
    try:
        descriptor = sys.stderr.fileno()
    except (OSError, ValueError):  # not a file: a test reads it
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
