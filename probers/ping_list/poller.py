"""Reads the ping list again and again, from a file or over HTTP, in a thread of its own."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic, monotonic_ns
from typing import Final

from probers.ping_list.document import PingList, PingListError, parse
from probers.ping_list.fetch import DEADLINE_S, fetch

#: After this many failures in a row the list is lost and the agent stops probing (fail closed).
MAX_FAILURES: Final = 3
_REPEAT_S: Final = 60.0  # between two log lines while reading goes on failing

Check = Callable[[PingList, str], None]
Fetch = Callable[[str, float], bytes]


class PingListPoller:
    """Reads the list every ``interval_s``.

    Calls ``on_change`` with a list that has changed, and with None after MAX_FAILURES failures in
    a row. The call is made in the poller's own thread, or, when a reading does not return, in the
    thread that calls ``watchdog_tick``.
    """

    def __init__(
        self,
        location: str,
        check: Check,
        on_change: Callable[[PingList | None], None],
        on_error: Callable[[str], None],
        *,
        interval_s: float = 10.0,
        pause_s: float | None = None,
        deadline_s: float = DEADLINE_S,
        fetch: Fetch = fetch,
    ) -> None:
        """pause_s   after a reading that succeeded; None: ``interval_s`` as after a failure
        check     ``check(list, where)`` raises PingListError for another agent's list
        on_error  gets one line for a failure; after the first ones at most one a minute
        fetch     ``fetch(location, deadline_s)`` returns the document's bytes
        """
        self._location, self._check, self._interval_s = location, check, interval_s
        self._on_change, self._on_error, self._deadline_s = on_change, on_error, deadline_s
        self._fetch = fetch
        self._pause_s = interval_s if pause_s is None else pause_s
        self._last: bytes | None = None
        self._failures = 0
        self._report_again_s = 0.0
        self._stopped = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ping-list", daemon=True)
        #: This many ticks [s] without the end of a reading count as MAX_FAILURES failures.
        self.max_ticks = int(MAX_FAILURES * (interval_s + deadline_s)) + 5
        self._ticks = 0
        #: read, failed, hanging (readings that did not return), unexpected (failures that are no
        #: PingListError: defects of the agent)
        self.counts: Counter[str] = Counter()
        #: Why the newest reading failed; "" when it did not.
        self.last_error = ""
        #: When a reading last succeeded [monotonic ns]; 0: never.
        self.read_ns = 0

    def read(self) -> PingList | None:
        """The list if it has changed since the last call, else None; raises PingListError."""
        raw = self._fetch(self._location, self._deadline_s)
        if raw == self._last:
            return None
        document = parse(raw, self._location)
        self._check(document, self._location)
        self._last = raw
        return document

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more; returns at once, a reading in progress is abandoned."""
        self._stopped = True
        self._wake.set()

    def read_soon(self) -> None:
        """Read as soon as the reading in progress, if there is one, has ended; in any thread."""
        self._wake.set()

    def poll(self) -> None:
        """Read once and report. Never raises: no list may end the thread."""
        try:
            document = self.read()
            self._failures, self.last_error, self.read_ns = 0, "", monotonic_ns()
            self.counts["read"] += 1
            if document is not None:
                self._on_change(document)
        except PingListError as why:
            self._fail(str(why))
        except Exception as why:  # a defect of the agent costs this reading, not all later ones
            self.counts["unexpected"] += 1
            self.report_unchanged()
            self._fail(f"{self._location}: cannot be used ({type(why).__name__}: {why})")
        self._ticks = 0

    def watchdog_tick(self) -> None:
        """Must be called once a second by another thread.

        Ends probing when a reading hangs (a name server, a file system). Ticks are counted, not
        seconds: the calling thread may itself have been stopped for a while.
        """
        self._ticks += 1
        if self._ticks == self.max_ticks:
            self.counts["hanging"] += 1
            self._fail(f"{self._location}: no reading has ended for {self.max_ticks} s")
            self._report_lost()

    def report_unchanged(self) -> None:
        """Report the list at the next reading even if it has not changed."""
        self._last = None

    def _fail(self, why: str) -> None:
        self._failures += 1
        self.counts["failed"] += 1
        self.last_error = why
        now_s = monotonic()
        if self._failures <= MAX_FAILURES or now_s >= self._report_again_s:
            self._report_again_s = now_s + _REPEAT_S
            self._on_error(why)
        if self._failures == MAX_FAILURES:
            self._report_lost()

    def _report_lost(self) -> None:
        self.report_unchanged()
        self._on_change(None)

    def _run(self) -> None:
        while True:
            self._wake.wait(self._interval_s if self._failures else self._pause_s)
            self._wake.clear()
            if self._stopped:
                return
            self.poll()
