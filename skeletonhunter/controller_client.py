"""The controller's REST API for commands: one request at a time, JSON in and out."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from schemas.secret_files import SecretFileError, read_secret
from skeletonhunter.errors import BadInput, BadSettings, DependencyUnreachable
from skeletonhunter.settings import Settings

_TIMEOUT_S: Final = 30.0  # the controller answers within 10 s, stored or not
_TOKEN: Final = re.compile(r"[!-~]+")
_SHOWN: Final = 300  # characters of an answer in a message


class ControllerClient:
    """Requests of an operator; every method raises BadInput and DependencyUnreachable.

    urls  of the site's controllers, of which one leads; one at least. They are asked in turn until
          one answers: one that cannot be reached, or that answers 503 because another one leads,
          has done nothing.
    """

    def __init__(self, urls: Sequence[str], token: str) -> None:
        self._urls, self._token = [url.rstrip("/") for url in urls], token

    @classmethod
    def of(
        cls, config: Settings, without: str = " Without a controller: --kafka"
    ) -> ControllerClient:
        """That of the settings; raises BadSettings, whose text ends with what can be done
        without a controller."""
        path = config.controller_token_file
        if path is None:
            raise BadSettings(
                "SKH_CONTROLLER_TOKEN_FILE must be set; `skeletonhunter keys token --operator "
                f"NAME` makes a token.{without}"
            )
        try:
            token = read_secret(path).decode("ascii", "replace").strip()
        except SecretFileError as why:
            raise BadSettings(f"SKH_CONTROLLER_TOKEN_FILE: {why}") from why
        if not _TOKEN.fullmatch(token):  # an error of the request would quote it
            raise BadSettings(f"SKH_CONTROLLER_TOKEN_FILE: {path} holds no token of one line")
        return cls(config.controller_url.split(","), token)

    def get(self, *path: str) -> Any:
        """The document at the path."""
        return self._asked("GET", path)

    def put(self, document: Any, *path: str) -> Any:
        """The answer to a document."""
        return self._asked("PUT", path, msgspec.json.encode(document))

    def stream(self, document: Any, *path: str) -> Iterator[dict[str, Any]]:
        """Each line of the answer to a document, as it comes."""
        url, answer = self._opened("POST", path, msgspec.json.encode(document))
        try:
            with answer:
                for line in answer:
                    if line.strip():
                        yield json.loads(line)
        except (OSError, ValueError, http.client.HTTPException) as why:
            raise _unreachable(url, why) from why

    def delete(self, *path: str) -> Any:
        """The answer to a deletion."""
        return self._asked("DELETE", path)

    def _asked(self, method: str, path: tuple[str, ...], body: bytes | None = None) -> Any:
        url, answer = self._opened(method, path, body)
        try:
            with answer:
                return json.loads(answer.read())
        except (OSError, ValueError, http.client.HTTPException) as why:
            raise _unreachable(url, why) from why

    def _opened(
        self, method: str, path: tuple[str, ...], body: bytes | None
    ) -> tuple[str, http.client.HTTPResponse]:
        """The controller that answers, and its answer; the last one's error where none does."""
        failure: BadInput | DependencyUnreachable | None = None
        for url in self._urls:
            request = self._request(url, method, path, body)
            try:
                return url, urllib.request.urlopen(request, timeout=_TIMEOUT_S)  # noqa: S310 — see _request
            except urllib.error.HTTPError as why:
                failure = _refused(url, why)
                if why.code != HTTPStatus.SERVICE_UNAVAILABLE:
                    raise failure from why
            except (OSError, ValueError, http.client.HTTPException) as why:
                # A controller that answers says more than one that does not.
                failure = failure or _unreachable(url, why)
        assert failure is not None  # noqa: S101 — there is one URL at least
        raise failure

    def _request(
        self, url: str, method: str, path: tuple[str, ...], body: bytes | None
    ) -> urllib.request.Request:
        where = "/".join(urllib.parse.quote(part) for part in ("api", "v1", *path))
        return urllib.request.Request(  # noqa: S310 — the setting is http or https
            f"{url}/{where}", body, method=method,
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )  # fmt: skip


def _unreachable(url: str, why: Exception) -> DependencyUnreachable:
    reason = getattr(why, "reason", why)
    return DependencyUnreachable(
        f"{url}: the controller does not answer: {reason}; start it, or correct SKH_CONTROLLER_URL"
    )


def _refused(url: str, why: urllib.error.HTTPError) -> BadInput | DependencyUnreachable:
    with why:
        raw = why.read()
    try:
        detail = str(json.loads(raw)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = raw.decode("utf-8", "replace") or why.reason
    text = " ".join(detail.split())[:_SHOWN]
    if why.code in (401, 403):
        return BadInput(f"{url}: {text}; correct SKH_CONTROLLER_TOKEN_FILE")
    kind = DependencyUnreachable if why.code >= 500 else BadInput
    return kind(f"{url}: {text}")
