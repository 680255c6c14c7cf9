"""Keeps reading the ping list, from a file or over HTTP, in a thread of its own."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic, monotonic_ns
from typing import Final

from probers.agent.fetch import DEADLINE_S, fetch
from probers.agent.ping_list import PingList, PingListError, parse

#: So many failures in a row and the agent stops probing: it fails closed.
MAX_FAILURES: Final = 3
_REPEAT_S: Final = 60.0  # between two log lines while it goes on failing

Check = Callable[[PingList, str], None]


class PingListPoller:
    """Reads again every ``interval_s``; reports a list when it has changed, and None when it has
    failed MAX_FAILURES times in a row. Both calls are made in the watch's own thread, or, when a
    reading does not return, in the thread that calls ``tick``."""

    def __init__(
        self,
        location: str,
        check: Check,
        changed: Callable[[PingList | None], None],
        failed: Callable[[str], None],
        *,
        interval_s: float = 10.0,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """``check(list, where)`` raises PingListError for a list that is not this agent's.
        ``failed(why)`` is called with one line for failures, at most once a minute after the
        first ones."""
        self._location, self._check, self._interval_s = location, check, interval_s
        self._changed, self._failed, self._deadline_s = changed, failed, deadline_s
        self._last: bytes | None = None
        self._failures = 0
        self._say_again_at = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ping-list", daemon=True)
        #: So many ticks without the end of a reading are as good as MAX_FAILURES failures.
        self.max_ticks = int(MAX_FAILURES * (interval_s + deadline_s)) + 5
        self._ticks = 0
        #: read, failed, hanging (readings that did not return), unexpected (failures that are no
        #: PingListError: defects of ours)
        self.counts: Counter[str] = Counter()
        #: Why the newest reading failed; "" when it did not.
        self.why = ""
        #: When a reading last succeeded [monotonic ns]; 0: never.
        self.read_at_ns = 0

    def read(self) -> PingList | None:
        """The list if it has changed since the last time, else None; raises PingListError."""
        raw = fetch(self._location, self._deadline_s)
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
        """Read once and report. Never raises: the thread must outlive whatever a list provokes."""
        try:
            document = self.read()
            self._failures, self.why, self.read_at_ns = 0, "", monotonic_ns()
            self.counts["read"] += 1
            if document is not None:
                self._changed(document)
        except PingListError as why:
            self._fail(str(why))
        except Exception as why:  # a defect of ours costs this reading, not all later ones
            self.counts["unexpected"] += 1
            self.forget()
            self._fail(f"{self._location}: cannot be used ({type(why).__name__}: {why})")
        self._ticks = 0

    def tick(self) -> None:
        """To be called once a second by another thread, which may itself have been stopped for a
        while: only its own turns count. A reading that hangs (a name server, a file system) must
        not let the agent probe on for ever."""
        self._ticks += 1
        if self._ticks == self.max_ticks:
            self.counts["hanging"] += 1
            self._fail(f"{self._location}: no reading has ended for {self.max_ticks} s")
            self._lose()

    def forget(self) -> None:
        """Report the list again when it is next read, even if it has not changed."""
        self._last = None

    def _fail(self, why: str) -> None:
        self._failures += 1
        self.counts["failed"] += 1
        self.why = why
        now = monotonic()
        if self._failures <= MAX_FAILURES or now >= self._say_again_at:
            self._say_again_at = now + _REPEAT_S
            self._failed(why)
        if self._failures == MAX_FAILURES:
            self._lose()

    def _lose(self) -> None:
        self.forget()
        self._changed(None)

    def _run(self) -> None:
        while not self._stop.wait(self._interval_s):
            self.turn()
