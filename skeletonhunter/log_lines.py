"""What a part logs: one line per event on stderr, as text or as JSON (SKH_LOG_FORMAT).

With JSON every line is an object: those of our loggers, of Faust, aiokafka, uvicorn and librdkafka,
of Python's warnings and of threads that fail, and what the command itself announces.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Literal

from schemas.printable import printable, printable_lines

#: Where librdkafka's clients send their lines, once they are polled.
KAFKA_LOGGER: Final = "librdkafka"
_OWN: Final = "skeletonhunter"
_CLIENTS: Final = (KAFKA_LOGGER, "aiokafka", "mode")  # mode: the services and timers of Faust
_ALIKE_S: Final = 30.0
_MOST_ALIKE: Final = 1000
_DIGITS: Final = re.compile(r"\d+")


class OneLine(logging.Formatter):
    """Formats a log record as one printable line, followed by its traceback if it has one."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return printable_lines(super().formatException(ei))


class JsonLine(logging.Formatter):
    """Formats a log record as one line of JSON: time, level, logger, message, traceback if any.

    Whatever a text holds, the line is ASCII without control characters.
    """

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC)
        found = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found)


class AlikeLines(logging.Filter):
    """Of alike lines of Kafka's clients one passes in half a minute; it says how many did not.

    While a broker is away each client tries to connect, fails and logs it ten to twenty times a
    second: more than a disk should take in a night; on a busy machine Faust does so of its timers.
    Lines are alike but for their digits.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock_s = clock_s
        self._passed_s: dict[tuple[str, str], float] = {}
        self._left_out: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.name.startswith(_CLIENTS):
            return True
        text = record.getMessage()
        key = (record.name, _DIGITS.sub("", text))
        now_s = self._clock_s()
        if now_s - self._passed_s.get(key, -math.inf) < _ALIKE_S:
            self._left_out[key] += 1
            return False
        if len(self._passed_s) >= _MOST_ALIKE:
            self._passed_s.clear()
            self._left_out.clear()
        self._passed_s[key] = now_s
        if left_out := self._left_out.pop(key, 0):
            record.msg, record.args = f"{text} ({left_out:,} alike before)", ()
        return True


def start(level: str, form: Literal["text", "json"] = "text") -> None:
    """Log to stderr from ``level`` upwards; the first call of a process holds."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonLine() if form == "json" else OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    handler.addFilter(AlikeLines())
    handler.setLevel(level)  # for loggers of libraries that have a lower level of their own, too
    logging.basicConfig(level=level, handlers=[handler])
    if form == "json":
        logging.captureWarnings(True)
        threading.excepthook = _thread_failed


def emit(level: int, text: str) -> bool:
    """Write a line of the command as JSON, whatever SKH_LOG_LEVEL is; False: lines are text."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, JsonLine):
            handler.handle(logging.LogRecord(_OWN, level, __file__, 0, text, None, None))
            return True
    return False


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_value is None or isinstance(failure.exc_value, SystemExit):
        return
    where = failure.thread.name if failure.thread is not None else "a thread"
    logging.getLogger(_OWN).error("%s failed", where, exc_info=failure.exc_value)
