"""The open requests of a host from the controller, in a thread that waits for each change."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from probers.ping_list.controller import Ask
from probers.ping_list.controllers import Controllers
from probers.ping_list.document import PingListError
from probers.ping_list.fetch import DEADLINE_S, ask
from probers.process.log import log_event
from probers.requests.usable import usable
from schemas.documents.requests.request import Request

#: Longest wait for a change: there is seldom one, and each wait costs the controller a request.
WAIT_S: Final = 55.0
PAUSE_S: Final = 0.2  # after an answer
RETRY_S: Final = 10.0  # after a failure
_LOGGED: Final = 3  # failures in a row that are logged


class _Open(msgspec.Struct, frozen=True):
    """The controller's answer."""

    requests: list[msgspec.Raw]


class RequestClient:
    """Calls ``on_requests`` with all open requests, whenever they are others than before.

    counts  read, failed, invalid (a request that cannot be used)
    """

    def __init__(
        self,
        urls: Sequence[str],
        node_sn: str,
        token: str,
        on_requests: Callable[[Sequence[Request]], None],
        counts: Counter[str],
        *,
        ask: Ask = ask,
    ) -> None:
        self._controllers = Controllers(urls)
        self._path = f"/api/v1/agents/{quote(node_sn, safe='')}/requests"
        self.use_token(token)
        self._on_requests, self._ask = on_requests, ask
        self._etag = ""
        self._failures = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="requests", daemon=True)
        self.counts = counts

    def use_token(self, token: str) -> None:
        """Ask with this token from now on; safe in any thread."""
        self._headers = {"Authorization": f"Bearer {token}"}

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more; returns at once."""
        self._stop.set()

    def poll(self) -> bool:
        """Wait for a change and report it; whether a controller has answered. Never raises.

        While none answers, running requests go on: each ends by itself.
        """
        try:
            self._controllers.first(self._read)
        except PingListError as why:
            self._failures += 1
            self.counts["failed"] += 1
            if self._failures <= _LOGGED:
                log_event("warning", "requests-unreadable", why=str(why))
            return False
        except Exception as why:  # a defect of the agent costs this reading, not all later ones
            self.counts["failed"] += 1
            log_event("error", "requests-unreadable", why=f"{type(why).__name__}: {why}")
            return False
        self._failures = 0
        self.counts["read"] += 1
        return True

    def _read(self, url: str) -> None:
        where = f"{url}{self._path}"
        headers, wait_s = dict(self._headers), 0.0
        if self._etag:
            headers["If-None-Match"], wait_s = self._etag, WAIT_S
        answer = self._ask(f"{where}?wait_s={wait_s:g}", DEADLINE_S + wait_s, headers=headers)
        if answer.status == 304:
            return
        try:
            found = msgspec.json.decode(answer.body, type=_Open).requests
        except (msgspec.MsgspecError, UnicodeDecodeError) as why:
            raise PingListError(f"{where}: not a controller's answer ({why})") from why
        self._etag = answer.etag
        self._on_requests(usable(found, self.counts))

    def _run(self) -> None:
        pause_s = 0.0
        while not self._stop.wait(pause_s):
            pause_s = PAUSE_S if self.poll() else RETRY_S
