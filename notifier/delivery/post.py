"""One HTTP request: bounded in time and size, without redirects, to a checked address."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver

from notifier.configuration.document import Target
from notifier.configuration.secrets import resolve
from notifier.delivery.addresses import PinnedResolver, RefusedAddress, check_literal
from notifier.messages.requests import Request

#: Of an answer's body so much is read at most [B]; only its status counts.
_ANSWER_BYTES: Final = 64 * 1024
_AGAIN: Final = frozenset({408, 425, 429})
_AGENT: Final = "SkeletonHunter-notifier"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended.

    result   again: a later attempt may succeed; refused: it will not
    reason   one line without the URL, which may be a secret; empty when it was delivered
    after_s  the receiver asks not to be asked before [s]
    """

    result: Literal["delivered", "again", "refused"]
    reason: str = ""
    after_s: float = 0.0


class Poster:
    """Sends requests to one target, one connection each; belongs to one event loop.

    environ   where secrets are that the configuration refers to
    resolver  of names; None: the system's
    Raises SecretError.
    """

    def __init__(
        self, target: Target, environ: Mapping[str, str], resolver: AbstractResolver | None = None
    ) -> None:
        self._target = target
        self._url = resolve(target.url, environ)
        self._proxy = None if target.proxy is None else resolve(target.proxy, environ)
        self._pinned = PinnedResolver(
            # A proxy is the operator's own choice, and may be inside.
            allow_private=target.allow_private or self._proxy is not None, inner=resolver,
        )  # fmt: skip
        self._tls = ssl.create_default_context(
            cafile=None if target.ca_file is None else str(target.ca_file)
        )

    async def send(self, request: Request) -> Outcome:
        """One attempt; raises nothing that the receiver or the network can cause."""
        url = self._url.rstrip("/") + request.path if request.path else self._url
        try:
            host = urlsplit(url).hostname or ""
            check_literal(host, allow_private=self._target.allow_private)
            return await self._ask(url, request)
        except RefusedAddress as why:
            return Outcome("refused", str(why))
        except aiohttp.ClientConnectorError as why:
            if isinstance(why.__cause__ or why.os_error, RefusedAddress):
                return Outcome("refused", str(why.__cause__ or why.os_error))
            return Outcome("again", _cause(why))
        except TimeoutError:
            return Outcome("again", f"no answer within {self._target.timeout_s:g} s")
        except ValueError:  # a host name that cannot be one
            return Outcome("refused", "the URL cannot be asked")
        except (aiohttp.ClientError, OSError) as why:
            return Outcome("again", _cause(why))

    async def _ask(self, url: str, request: Request) -> Outcome:
        timeout = aiohttp.ClientTimeout(total=self._target.timeout_s)
        connector = aiohttp.TCPConnector(
            resolver=self._pinned, use_dns_cache=False, force_close=True, ssl=self._tls
        )
        headers = {**request.headers, "User-Agent": _AGENT}
        method = "GET"
        if request.body is not None:
            method, headers["Content-Type"] = "POST", "application/json"
        async with (
            asyncio.timeout(self._target.timeout_s),  # aiohttp's own leaves out what it waits for
            aiohttp.ClientSession(
                connector=connector, connector_owner=True, timeout=timeout, trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False,
            ) as session,
            session.request(
                method, url, data=request.body, headers=headers, proxy=self._proxy,
                allow_redirects=False,
            ) as answer,
        ):  # fmt: skip
            await answer.content.read(_ANSWER_BYTES)
            return of_status(answer.status, answer.headers)


def of_status(status: int, headers: Mapping[str, Any]) -> Outcome:
    """What an answer means for the notification."""
    if 200 <= status < 300:
        return Outcome("delivered")
    if 300 <= status < 400:
        return Outcome("refused", f"HTTP {status}: it redirects, and redirects are not followed")
    result: Literal["again", "refused"] = (
        "again" if status >= 500 or status in _AGAIN else "refused"
    )
    return Outcome(result, f"HTTP {status}", _after_s(headers))


def _after_s(headers: Mapping[str, Any]) -> float:
    """Retry-After as a number; a date is left to our own pauses."""
    text = str(headers.get("Retry-After", ""))
    return (
        float(min(int(text), 3600)) if text.isascii() and text.isdigit() and len(text) < 8 else 0.0
    )


def _cause(why: BaseException) -> str:
    """The reason without the address: an aiohttp error's own text names it."""
    cause = getattr(why, "os_error", None) or why.__cause__ or why
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}"
    if isinstance(cause, OSError) and cause.errno and cause.strerror:
        return os.strerror(cause.errno) if cause.errno > 0 else str(cause.strerror)
    return type(cause).__name__
