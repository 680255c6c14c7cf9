"""Pods as an API server shows them, and an API server that follows a script."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from controller.sources.kubernetes.api_objects import Change, Pod
from controller.sources.kubernetes.source import Listing
from schemas.documents.topology import Rnic

CREATED = "2026-09-21T14:13:20Z"
CREATED_MS = 1_790_000_000_000
HOSTS = {
    f"h{host:03}": [Rnic(f"10.{rail}.{host}.1", rail) for rail in range(2)] for host in range(4)
}


def endpoints(number: int, host: int, rails: int = 2) -> str:
    """The annotation of a pod with an endpoint on every rail."""
    return json.dumps([
        {"ip": f"172.{16 + rail}.{number}.1", "real_ip": f"10.{rail}.{host}.1"}
        for rail in range(rails)
    ])  # fmt: skip


def network_status(*networks: tuple[str, str, str]) -> str:
    """The annotation of Multus; networks: (name, address, rdma device)."""
    entries: list[dict[str, Any]] = [
        {"name": "cilium", "interface": "eth0", "ips": ["10.244.0.7"], "default": True, "dns": {}}
    ]
    for place, (name, address, device) in enumerate(networks, 1):
        entries.append({
            "name": name, "interface": f"net{place}", "ips": ["fd00::1", address], "dns": {},
            "device-info": {
                "type": "pci", "version": "1.1.0",
                "pci": {"pci-address": f"0000:0{place}:00.2", "rdma-device": device},
            },
        })  # fmt: skip
    return json.dumps(entries)


def raw_pod(
    number: int,
    host: int | None = None,
    *,
    job: str = "job-a",
    label: str = "batch.kubernetes.io/job-name",
    phase: str = "Running",
    annotations: dict[str, str] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """A pod as the API's JSON; host None: it is not scheduled yet."""
    notes = {} if annotations is None else annotations
    if host is not None and annotations is None:
        notes = {"skeletonhunter.io/endpoints": endpoints(number, host)}
    return {
        "metadata": {
            "name": f"p{number}", "namespace": "train", "uid": f"{number:08x}-0000-4000-8000-1",
            "resourceVersion": str(100 + number), "creationTimestamp": CREATED,
            "labels": {label: job} if job else {}, "annotations": notes, **metadata,
        },
        "spec": {"containers": [{"name": "main"}]} | (
            {} if host is None else {"nodeName": f"h{host:03}"}
        ),
        "status": {"phase": "Pending" if host is None else phase},
    }  # fmt: skip


def pod(number: int, host: int | None = None, **more: Any) -> Pod:
    """As ``raw_pod``, decoded."""
    return msgspec.convert(raw_pod(number, host, **more), Pod)


class ScriptedApi:
    """An API server that follows a script; a step is a listing, the lines of a watch, or an error.

    asked  the version of each watch, and "list" for a list
    """

    def __init__(self, steps: Sequence[Listing | Sequence[Change | Exception] | Exception]) -> None:
        self._steps = list(steps)
        self.asked: list[str] = []

    async def list(self) -> Listing:
        self.asked.append("list")
        step = self._next()
        assert isinstance(step, Listing), f"{step} is no listing"
        return step

    async def watch(self, version: str) -> AsyncIterator[Change]:
        self.asked.append(version)
        step = self._next()
        assert not isinstance(step, Listing | Exception)
        for line in step:
            if isinstance(line, Exception):
                raise line
            yield line

    def _next(self) -> Listing | Sequence[Change | Exception]:
        if not self._steps:
            raise ScriptEnds
        step = self._steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


class ScriptEnds(Exception):
    """The script is over."""
