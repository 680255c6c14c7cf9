"""Keeps reading the ping list, from a file or over HTTP, in a thread of its own."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

from probers.pinglist import MAX_BYTES, PingList, PingListError, parse

#: So many failures in a row and the agent stops probing: nobody steers it any more.
MAX_FAILURES: Final = 3
_TIMEOUT_S: Final = 5.0

Check = Callable[[PingList, str], None]


def fetch(location: str) -> bytes:
    """Bytes of a file or http(s) URL; raises PingListError with one line."""
    try:
        if location.startswith(("http://", "https://")):
            request = urllib.request.Request(location)  # noqa: S310  # the scheme was just checked
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310  # as above
                return bytes(answer.read(MAX_BYTES + 1))
        with Path(location).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except urllib.error.URLError as why:
        raise PingListError(f"{location}: {why.reason}; is the controller there?") from why
    except OSError as why:
        raise PingListError(f"{location}: {why.strerror or why}; give a readable list") from why
    except ValueError as why:
        raise PingListError(f"{location}: {why}; give a file or an http(s) URL") from why


class Watch:
    """Reads again every ``interval_s``; reports a list when it has changed, and None when it has
    failed MAX_FAILURES times in a row. Both calls are made in the watch's own thread."""

    def __init__(
        self,
        location: str,
        check: Check,
        changed: Callable[[PingList | None], None],
        failed: Callable[[str], None],
        *,
        interval_s: float = 10.0,
    ) -> None:
        """``check(list, where)`` raises PingListError for a list that is not this agent's."""
        self._location, self._check, self._interval_s = location, check, interval_s
        self._changed, self._failed = changed, failed
        self._last: bytes | None = None
        self._failures = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ping-list", daemon=True)

    def read(self) -> PingList | None:
        """The list if it has changed since the last time, else None; raises PingListError."""
        raw = fetch(self._location)
        if raw == self._last:
            return None
        document = parse(raw, self._location)
        self._check(document, self._location)
        self._last = raw
        return document

    def start(self) -> None:
        """Begin to read again and again."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more; returns at once, a fetch under way is abandoned."""
        self._stop.set()

    def turn(self) -> None:
        """Read once and report."""
        try:
            document = self.read()
        except PingListError as why:
            self._failures += 1
            self._failed(str(why))
            if self._failures == MAX_FAILURES:
                self._last = None
                self._changed(None)
            return
        self._failures = 0
        if document is not None:
            self._changed(document)

    def _run(self) -> None:
        while not self._stop.wait(self._interval_s):
            self.turn()
