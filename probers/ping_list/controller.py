"""The list of a host from the controller: registers the host, then waits for each change.

``ControllerClient`` takes the place of ``fetch`` in a ``PingListPoller``, which keeps the last list
when no controller answers, and loses it after three failures of all of them in a row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Final, Protocol
from urllib.parse import quote

import msgspec

from probers.ping_list.controllers import Controllers
from probers.ping_list.document import PingListError
from probers.ping_list.fetch import DEADLINE_S, Answer, ask
from schemas.secret_files import SecretFileError, read_secret

#: Longest wait for a change, and while an endpoint or a placement is still missing [s].
WAIT_S: Final = 25.0
_SHORT_WAIT_S: Final = 1.0
#: Between the end of a reading and the next one [s].
PAUSE_S: Final = 0.5
_HEAD_BYTES: Final = 64  # of an answer: a delta begins with ``since``
#: For a registration and a list of one controller, one after the other [s].
TOTAL_DEADLINE_S: Final = 2 * DEADLINE_S + WAIT_S


class Ready(msgspec.Struct, frozen=True):
    """What the agent serves.

    containers  whose endpoints all answer probes; None: this agent does not serve whole containers
    missing     own endpoints that do not answer yet [count]
    served      own endpoints that do [count]
    """

    containers: tuple[str, ...] | None = None
    missing: int = 0
    served: int = 0


class _Registered(msgspec.Struct, frozen=True):
    """The controller's answer to a registration, as far as it matters here."""

    again_s: float
    unknown: list[str] = []


class _Delta(msgspec.Struct, frozen=True):
    """What the list has become since it had the ETag ``since``; without one it is no delta."""

    since: str
    interval_s: float
    endpoints: msgspec.Raw
    added: list[dict[str, Any]]
    removed: list[tuple[str, str]]


class Ask(Protocol):
    """``probers.ping_list.fetch.ask``."""

    def __call__(
        self,
        location: str,
        deadline_s: float,
        *,
        headers: dict[str, str],
        body: bytes | None = None,
    ) -> Answer: ...


class ControllerClient:
    """Reads the list of one host; for one thread, but ``register_changes``.

    urls   of controllers, as http://controller:8770
    ready  called before each request
    """

    def __init__(
        self,
        urls: Sequence[str],
        node_sn: str,
        token: str,
        ready: Callable[[], Ready],
        *,
        ask: Ask = ask,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._controllers = Controllers(urls)
        self._path = f"/api/v1/agents/{quote(node_sn, safe='')}"
        self.location = f"{self._controllers.current}{self._path}/ping-list"
        self.use_token(token)
        self._ready, self._ask, self._clock = ready, ask, clock
        self._etag, self._list = "", b""
        self._registered = Ready()
        self._unknown = False
        self._registering = threading.Lock()
        self._again_s: float | None = None  # None: the controller may not know of this agent
        self._registered_at = ""  # URL of the controller that does

    def use_token(self, token: str) -> None:
        """Ask with this token from now on; safe in any thread."""
        self._headers = {"Authorization": f"Bearer {token}"}

    def __call__(self, location: str, deadline_s: float) -> bytes:
        """The list, after a wait for a change of the one that was read last; raises
        PingListError where no controller gives it."""
        return self._controllers.first(self._list_from)

    def _list_from(self, url: str) -> bytes:
        try:
            with self._registering:
                ready = self._ready()
                due = self._again_s is None or self._clock() >= self._again_s
                if due or url != self._registered_at or self._differs(ready):
                    self._register(url, ready)
            return self._read(f"{url}{self._path}/ping-list", ready)
        except PingListError:
            self._again_s = None
            raise

    def register_changes(self) -> None:
        """Register at once if the ready containers are others than those that were registered last,
        while the list's thread waits for a change; raises PingListError. Safe in any thread."""
        with self._registering:
            ready = self._ready()
            if self._again_s is not None and ready.containers != self._registered.containers:
                self._register(self._registered_at, ready)

    def _differs(self, ready: Ready) -> bool:
        return self._unknown or ready.containers != self._registered.containers

    def _register(self, url: str, ready: Ready) -> None:
        where = f"{url}{self._path}/register"
        body = msgspec.json.encode({"containers": ready.containers})
        headers = {**self._headers, "Content-Type": "application/json"}
        answer = self._ask(where, DEADLINE_S, headers=headers, body=body)
        try:
            found = msgspec.json.decode(answer.body, type=_Registered)
        except (msgspec.MsgspecError, UnicodeDecodeError) as why:
            raise PingListError(f"{where}: not a controller's answer ({why})") from why
        self._registered, self._registered_at = ready, url
        self._unknown = bool(found.unknown)
        self._again_s = self._clock() + found.again_s

    def _read(self, location: str, ready: Ready) -> bytes:
        headers, where, wait_s = dict(self._headers), location, 0.0
        if self._etag:
            wait_s = _SHORT_WAIT_S if self._unknown or ready.missing else WAIT_S
            headers["If-None-Match"] = self._etag
            where += f"?wait_s={wait_s:g}&delta=true"
        answer = self._ask(where, DEADLINE_S + wait_s, headers=headers)
        if answer.status != 304 or not self._etag:
            whole = self._etag == "" or b'"since":' not in answer.body[:_HEAD_BYTES]
            found = answer.body if whole else self._changed(answer.body, location)
            self._etag, self._list = answer.etag, found
        return self._list

    def _changed(self, raw: bytes, location: str) -> bytes:
        """The last list with a delta applied; raises PingListError, and asks for the whole list
        next, where the delta does not begin at that list."""
        last, self._etag = self._etag, ""
        try:
            delta = msgspec.json.decode(raw, type=_Delta)
            document = msgspec.json.decode(self._list)
            if f'"{delta.since}"' != last:
                raise PingListError(f"{location}: the delta begins at another list")
            targets = {(each["src_ip"], each["ip"]): each for each in document["targets"]}
            for pair in delta.removed:
                targets.pop(pair, None)
            targets |= {(each["src_ip"], each["ip"]): each for each in delta.added}
            changed = {"interval_s": delta.interval_s, "endpoints": delta.endpoints}
            return msgspec.json.encode(
                {**document, **changed, "targets": [targets[pair] for pair in sorted(targets)]}
            )
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError) as why:
            raise PingListError(f"{location}: not a controller's answer ({why})") from why


def read_token(path: str) -> str:
    """The token in a file to which only its owner has access; raises PingListError."""
    try:
        token = read_secret(path).decode("ascii").strip()
    except SecretFileError as why:
        raise PingListError(str(why)) from why
    except UnicodeDecodeError:
        raise PingListError(f"{path}: not a token; give the output of `keys token`") from None
    if not token or token.split() != [token]:
        raise PingListError(f"{path}: not one token; give the output of `keys token`")
    return token
