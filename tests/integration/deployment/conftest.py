"""One Kubernetes API server for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes import dynamic

from ..site import kubernetes_server
from ..site.kubernetes_server import KubernetesServer


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesServer]:
    if why := kubernetes_server.missing():
        pytest.skip(why)
    server = KubernetesServer(tmp_path_factory.mktemp("kubernetes"))
    yield server
    server.stop()


@pytest.fixture(scope="package")
def cluster(server: KubernetesServer) -> dynamic.DynamicClient:
    return dynamic.DynamicClient(server.client())
