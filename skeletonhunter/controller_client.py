"""The controller's REST API for commands: one request at a time, JSON in and out."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from schemas.secret_files import SecretFileError, read_secret
from skeletonhunter.errors import BadInput, BadSettings, DependencyUnreachable
from skeletonhunter.settings import Settings

_TIMEOUT_S: Final = 30.0  # the controller answers within 10 s, stored or not
_TOKEN: Final = re.compile(r"[!-~]+")
_SHOWN: Final = 300  # characters of an answer in a message


class ControllerClient:
    """Requests of an operator; every method raises BadInput and DependencyUnreachable."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url.rstrip("/"), token

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
        return cls(config.controller_url, token)

    def get(self, *path: str) -> Any:
        """The document at the path."""
        return self._asked("GET", path)

    def put(self, document: Any, *path: str) -> Any:
        """The answer to a document."""
        return self._asked("PUT", path, msgspec.json.encode(document))

    def stream(self, document: Any, *path: str) -> Iterator[dict[str, Any]]:
        """Each line of the answer to a document, as it comes."""
        request = self._request("POST", path, msgspec.json.encode(document))
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 — see _request
                for line in answer:
                    if line.strip():
                        yield json.loads(line)
        except urllib.error.HTTPError as why:
            raise self._refused(why) from why
        except (OSError, ValueError, http.client.HTTPException) as why:
            raise self._unreachable(why) from why

    def delete(self, *path: str) -> Any:
        """The answer to a deletion."""
        return self._asked("DELETE", path)

    def _asked(self, method: str, path: tuple[str, ...], body: bytes | None = None) -> Any:
        request = self._request(method, path, body)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 — see _request
                return json.loads(answer.read())
        except urllib.error.HTTPError as why:
            raise self._refused(why) from why
        except (OSError, ValueError) as why:
            raise self._unreachable(why) from why

    def _request(
        self, method: str, path: tuple[str, ...], body: bytes | None
    ) -> urllib.request.Request:
        where = "/".join(urllib.parse.quote(part) for part in ("api", "v1", *path))
        return urllib.request.Request(  # noqa: S310 — the setting is http or https
            f"{self._url}/{where}", body, method=method,
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )  # fmt: skip

    def _unreachable(self, why: Exception) -> DependencyUnreachable:
        reason = getattr(why, "reason", why)
        return DependencyUnreachable(
            f"{self._url}: the controller does not answer: {reason}; start it, or correct "
            "SKH_CONTROLLER_URL"
        )

    def _refused(self, why: urllib.error.HTTPError) -> BadInput | DependencyUnreachable:
        with why:
            raw = why.read()
        try:
            detail = str(json.loads(raw)["detail"])
        except (ValueError, KeyError, TypeError):
            detail = raw.decode("utf-8", "replace") or why.reason
        text = " ".join(detail.split())[:_SHOWN]
        if why.code in (401, 403):
            return BadInput(f"{self._url}: {text}; correct SKH_CONTROLLER_TOKEN_FILE")
        kind = DependencyUnreachable if why.code >= 500 else BadInput
        return kind(f"{self._url}: {text}")
