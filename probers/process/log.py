"""The agent's log: a line per event on stderr, logfmt or JSON, no secrets, 30 a minute per event.

``log_event`` never raises and never blocks: an unread log must not stop the probing.
"""

from __future__ import annotations

import json
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


class _Form:
    """How lines are written: logfmt, or JSON where SKH_LOG_FORMAT asks for it."""

    json = False


class _EventRate:
    """Lines of one event in the minute that began at ``since`` [monotonic s]."""

    __slots__ = ("left_out", "since", "written")

    def __init__(self, since: float) -> None:
        self.since, self.written, self.left_out = since, 0, 0


_rates: dict[str, _EventRate] = {}


def choose_form(name: str) -> bool:
    """Write lines as ``text`` (logfmt, the default) or as ``json``; False for another name."""
    _Form.json = name == "json"
    return name in ("text", "json")


def writes_json() -> bool:
    """Whether lines are JSON."""
    return _Form.json


def log_event(level: str, event: str, **fields: object) -> None:
    """Write ``time=… level=… event=… key=value …``, or the same as a JSON object of texts.

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
    line = (_as_json if _Form.json else _as_text)(now, level, event, fields)
    with _lock:
        try:
            _write(line)
        except (OSError, ValueError):  # closed, broken or full
            _Lost.count += 1


def lines_lost() -> int:
    """Log lines that could not be written since the process started."""
    return _Lost.count


def _as_text(now: str, level: str, event: str, fields: dict[str, object]) -> str:
    parts = [f"time={now}", f"level={level}", f"event={printable(event)}"]
    parts += [f"{name}={_quoted(str(value))}" for name, value in fields.items()]
    return " ".join(parts)


def _as_json(now: str, level: str, event: str, fields: dict[str, object]) -> str:
    """At most ``_MAX_BYTES``: a line that is cut would be no JSON."""
    head = {"time": now, "level": level, "event": event}
    line = json.dumps(head | {name: str(value) for name, value in fields.items()})
    if len(line) < _MAX_BYTES:
        return line
    short = _MAX_BYTES // (14 * max(1, len(fields)))  # a character is up to 12 as \\u escapes
    return json.dumps(head | {name: str(value)[:short] for name, value in fields.items()})


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
