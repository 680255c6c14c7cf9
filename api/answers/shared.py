"""Equal questions share an answer, and a client that has it already gets no body.

A hundred open pages ask the same every few seconds: the database is asked once for all who wait,
and again before the answer is ``keep_s`` old, so that no client waits for what is asked for often.
A change that this process stores ends what is kept.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.access.callers import CALLER
from api.access.guard import SESSION_PATH, SQL_PATH
from api.documents import HEADERS

#: Answers of a client's own, or without an end.
_OWN: Final = frozenset({SESSION_PATH, SQL_PATH, "/api/v1/stream"})
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
#: What is kept at most [B], [count].
_MOST_BYTES: Final = 32 * 1024 * 1024
_MOST_ANSWERS: Final = 2048
#: Made of half minutes, which change twice a minute: kept so many times as long. What incidents say
#: of the components there is as old.
_OF_HALF_MINUTES: Final = frozenset({"/api/v1/components", "/api/v1/matrix"})
_LONGER: Final = 5
#: A kept answer is renewed in this last share of its time [1], or earlier where that took longer
#: than half of it; never before half of its time.
_RENEW_SHARE: Final = 0.25

_Key = tuple[str, bytes, tuple[str, ...], int]


class _Answer(NamedTuple):
    """A whole response; tag: its ETag, empty for all but documents."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    tag: str


class _Kept(NamedTuple):
    """An answer that is given again: renewed from one time on, until another [s]."""

    answer: _Answer
    renew_s: float
    until_s: float


class SharedAnswers:
    """Middleware behind the guard: callers of different tenants share nothing.

    keep_s  age up to which an answer is given again [s]; 0: only those who wait together share one
    """

    def __init__(
        self, app: ASGIApp, keep_s: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app, self._keep_s, self._clock = app, keep_s, clock
        self._asked: dict[_Key, asyncio.Task[_Answer]] = {}
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._bytes = 0
        self._changes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        shares = scope["type"] == "http" and scope["path"].startswith("/api/")
        if not shares or scope["path"] in _OWN or scope["method"] != "GET":
            try:
                await self._app(scope, receive, send)
            finally:
                if shares and scope["path"] not in _OWN and scope["method"] not in _SAFE:
                    self._changed()
            return
        caller = CALLER.get()
        tenants = caller.tenants if caller is not None else ()
        key = (scope["path"], scope["query_string"], tenants, self._changes)
        found = await self._answer(key, scope)
        await _response(found, Headers(scope=scope))(scope, receive, send)

    async def _answer(self, key: _Key, scope: Scope) -> _Answer:
        kept, now_s = self._kept.get(key), self._clock()
        if kept is not None and now_s < kept.until_s:
            if now_s >= kept.renew_s:
                self._asking(key, scope)
            return kept.answer
        return await asyncio.shield(self._asking(key, scope))

    def _asking(self, key: _Key, scope: Scope) -> asyncio.Task[_Answer]:
        """The question in progress, which begins here unless it has begun."""
        task = self._asked.get(key)
        if task is None:
            began_s = self._clock()
            # A task of its own: who asked first may be gone before those who wait with it.
            task = self._asked[key] = asyncio.create_task(self._ask(dict(scope)))
            task.add_done_callback(lambda done: self._answered(key, began_s, done))
        return task

    async def _ask(self, scope: Scope) -> _Answer:
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, send)
        start, *rest = messages
        body = b"".join(each.get("body", b"") for each in rest)
        headers = Headers(raw=start["headers"])
        tag = ""
        if start["status"] == 200 and headers.get("content-type") == "application/json":
            tag = f'W/"{blake2b(body, digest_size=12).hexdigest()}"'
        return _Answer(start["status"], list(start["headers"]), body, tag)

    def _answered(self, key: _Key, began_s: float, done: asyncio.Task[_Answer]) -> None:
        self._asked.pop(key, None)
        if self._keep_s <= 0 or done.cancelled() or done.exception() or key[3] != self._changes:
            return
        answer = done.result()
        if not answer.tag:
            return
        if before := self._kept.pop(key, None):
            self._bytes -= len(before.answer.body)
        now_s = self._clock()
        keep_s = self._keep_s * (_LONGER if key[0] in _OF_HALF_MINUTES else 1)
        ahead_s = max(_RENEW_SHARE * keep_s, 2 * (now_s - began_s))
        until_s = now_s + keep_s
        self._kept[key] = _Kept(answer, until_s - min(ahead_s, keep_s / 2), until_s)
        self._bytes += len(answer.body)
        while self._bytes > _MOST_BYTES or len(self._kept) > _MOST_ANSWERS:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= len(oldest.answer.body)

    def _changed(self) -> None:
        """Nothing that was asked before a change answers a question after it."""
        self._changes += 1
        self._kept.clear()
        self._bytes = 0


def _response(found: _Answer, asked: Headers) -> Response:
    """The answer, or 304 where the client has it.

    The tag is weak: the body may be compressed. A client may keep the body, and has to ask again
    before each use.
    """
    if not found.tag:
        response = Response(found.body, found.status)
        response.raw_headers = list(found.headers)
        return response
    headers: dict[str, Any] = {
        **HEADERS, "Cache-Control": "private, no-cache", "ETag": found.tag,
    }  # fmt: skip
    known = {each.strip().removeprefix("W/") for each in asked.get("if-none-match", "").split(",")}
    if known & {found.tag.removeprefix("W/"), "*"}:
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type="application/json", headers=headers)
