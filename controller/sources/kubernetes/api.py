"""The official client: pages of pods, and the lines of a watch from a thread of its own.

Answers are decoded by ``api_objects``: the client's own models cost a millisecond a pod and more.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from controller.sources.kubernetes.api_objects import GONE, Change, Pod, change, page
from controller.sources.kubernetes.parameters import DEFAULT, PodParameters
from controller.sources.kubernetes.source import ApiError, Listing, VersionExpired

INSTALL: Final = (
    "pods are followed with Kubernetes' client: pip install 'skeletonhunter[kubernetes]'"
)
ALL: Final = "*"
_CHUNK_BYTES: Final = 65_536


class Unusable(Exception):
    """The client is not installed, or has no cluster; one line."""


class ClusterPods:
    """Pods of one namespace, or of all (``*``); ``selector`` as for kubectl. A ``PodApi``."""

    def __init__(
        self, namespace: str, selector: str = "", parameters: PodParameters = DEFAULT
    ) -> None:
        """Raises Unusable. The cluster is KUBECONFIG's, else ~/.kube/config's, else the own one."""
        try:
            from kubernetes import client, config
        except ModuleNotFoundError:
            raise Unusable(INSTALL) from None
        configuration = client.Configuration()
        try:
            given = os.environ.get("KUBECONFIG")
            if given or Path.home().joinpath(".kube", "config").exists():
                outside: Callable[..., None] = config.load_kube_config
                outside(given, client_configuration=configuration)
            else:
                inside: Callable[..., None] = config.load_incluster_config
                inside(client_configuration=configuration)
        except (config.ConfigException, OSError) as why:
            first = (str(why).splitlines() or [""])[0]
            raise Unusable(f"no cluster: {first}; run inside it, or set KUBECONFIG") from why
        self._pods = client.CoreV1Api(client.ApiClient(configuration))
        self._namespace, self._selector, self._parameters = namespace, selector, parameters

    async def list(self) -> Listing:
        """All pods, page by page; raises ApiError."""
        pods: list[Pod] = []
        token = ""
        while True:
            raw = await asyncio.to_thread(self._page, token)
            with _decoded():
                found = page(raw)
            pods += found.items
            token = found.metadata.continue_
            if not token:
                return Listing(pods, found.metadata.resource_version)

    async def watch(self, version: str) -> AsyncIterator[Change]:
        """Changes after the version; raises ApiError."""
        loop, lines = asyncio.get_running_loop(), asyncio.Queue[bytes | BaseException | None]()
        opened: list[Any] = []

        def hand_over(item: bytes | BaseException | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(lines.put_nowait, item)

        def read() -> None:
            try:
                opened.append(self._opened(version))
                for line in _lines(opened[0].stream(_CHUNK_BYTES)):
                    hand_over(line)
            except Exception as why:
                hand_over(why)
            finally:
                hand_over(None)

        threading.Thread(target=read, name="watch of pods", daemon=True).start()
        try:
            while (item := await lines.get()) is not None:
                if isinstance(item, BaseException):
                    raise _of(item) from item
                with _decoded():
                    found = change(item)
                yield found
        finally:
            if opened:
                with contextlib.suppress(Exception):
                    opened[0].shutdown()  # the thread's read returns

    def _page(self, token: str) -> bytes:
        try:
            options: dict[str, Any] = {"limit": self._parameters.page}
            if token:
                options["_continue"] = token
            found = self._call(_request_timeout=self._parameters.request_s, **options)
            raw: bytes = found.data
        except Exception as why:
            raise _of(why) from why
        return raw

    def _opened(self, version: str) -> Any:
        return self._call(
            watch=True, resource_version=version, allow_watch_bookmarks=True,
            timeout_seconds=self._parameters.watch_s,
            _request_timeout=(self._parameters.connect_s, self._parameters.silent_s),
        )  # fmt: skip

    def _call(self, **options: Any) -> Any:
        if self._selector:
            options["label_selector"] = self._selector
        options["_preload_content"] = False
        if self._namespace == ALL:
            return self._pods.list_pod_for_all_namespaces(**options)
        return self._pods.list_namespaced_pod(self._namespace, **options)


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines of a stream that is cut anywhere; what follows the last end of a line is dropped."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from filter(None, whole)


@contextlib.contextmanager
def _decoded() -> Iterator[None]:
    try:
        yield
    except msgspec.MsgspecError as why:
        raise ApiError(f"an answer that is no list or change of pods: {why}") from why


def _of(why: BaseException) -> ApiError:
    """The error in our words."""
    status = getattr(why, "status", None)
    reason = getattr(why, "reason", None) or (str(why).splitlines() or [type(why).__name__])[0]
    if status == GONE:
        return VersionExpired("the API server has forgotten the version")
    if status in (401, 403):
        return ApiError(
            f"{status} {reason}: the account may not get, list and watch pods; "
            "apply k8s/controller-rbac.yaml, or correct KUBECONFIG"
        )
    return ApiError(f"{status} {reason}" if status else f"{type(why).__name__}: {reason}")
