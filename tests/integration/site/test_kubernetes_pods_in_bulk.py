"""2,000 pods that Kubernetes' scheduler binds, kwok runs and the controller follows."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import Service
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from schemas.documents.times import milliseconds_of

from . import kubernetes_controllers, kubernetes_server
from .kubernetes_controllers import Controllers
from .kubernetes_server import KubernetesServer
from .test_kubernetes_pods import ROOT, following, states

why_not = kubernetes_server.missing() or kubernetes_controllers.missing()
pytestmark = [
    pytest.mark.kubernetes, pytest.mark.anyio,
    pytest.mark.skipif(why_not is not None, reason=str(why_not)),
]  # fmt: skip
HOSTS, PODS = 200, 2000
_LONG_S = 300.0


class Cluster:
    """An API server with controllers, HOSTS nodes, the shipped account and a namespace for pods."""

    def __init__(self, server: KubernetesServer) -> None:
        self.controllers = Controllers(server)
        self.core = client.CoreV1Api(server.client())
        server.apply(ROOT / "k8s" / "controller-rbac.yaml")
        self.core.create_namespace({"metadata": {"name": "train"}})
        self.controllers.add_nodes([f"h{n:03}" for n in range(HOSTS)], {})
        self._wait_for_account()
        self.kubeconfig = server.kubeconfig(server.account_token("controller", "skeletonhunter"))

    def create_pods(self) -> None:
        """All at once; the scheduler binds each to the host that its selector names."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self._create_pod, range(PODS)))

    def delete_pods(self) -> None:
        self.core.delete_collection_namespaced_pod("train", grace_period_seconds=0)

    def _create_pod(self, number: int) -> None:
        host = number % HOSTS
        addresses = [
            {"ip": f"172.{16 + rail + 2 * (number // 256)}.{number % 256}.1",
             "real_ip": f"10.{rail}.{host}.1"}
            for rail in range(2)
        ]  # fmt: skip
        self.core.create_namespaced_pod("train", {
            "metadata": {
                "name": f"p{number}",
                "labels": {"batch.kubernetes.io/job-name": f"job-{number % 20}"},
                "annotations": {"skeletonhunter.io/endpoints": json.dumps(addresses)},
            },
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": f"h{host:03}"},
                "containers": [{"name": "main", "image": "none"}],
            },
        })  # fmt: skip

    def _wait_for_account(self) -> None:
        deadline = time.monotonic() + _LONG_S
        while True:
            try:
                self.core.read_namespaced_service_account("default", "train")
                return
            except ApiException as why:
                if why.status != 404 or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)  # between two looks at a condition with a deadline


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = KubernetesServer(tmp_path_factory.mktemp("bulk"))
    try:
        made = Cluster(server)
        yield made
        made.controllers.stop()
    finally:
        server.stop()


async def until_all(service: Service, state: str) -> None:
    deadline = time.monotonic() + _LONG_S
    while (found := Counter(states(service).values())) != {state: PODS}:
        assert time.monotonic() < deadline, f"not all of {PODS} are {state}: {found}"
        await asyncio.sleep(0.5)


async def test_2000_pods_are_followed_while_they_are_created_and_when_they_go(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    service = Service(two_tiers(HOSTS))
    service.now_ms = milliseconds_of("2100-01-01T00:00:00Z")
    async with following(service):
        begun = time.monotonic()
        await asyncio.to_thread(cluster.create_pods)
        created_s = time.monotonic() - begun
        await until_all(service, "starting")  # an agent in it makes a container ready
        placed_s = time.monotonic() - begun
        documents = service.topics.documents()
        assert Counter(each.job for each in documents.placements) == Counter(
            {f"train/job-{n}": PODS // 20 for n in range(20)}
        )
        assert {each.node_id: each.node_sn for each in documents.placements} == {
            each.node_id: f"h{int(each.node_id.partition('/p')[2].partition('.')[0]) % HOSTS:03}"
            for each in documents.placements
        }
        begun = time.monotonic()
        await asyncio.to_thread(cluster.delete_pods)
        await until_all(service, "gone")
        gone_s = time.monotonic() - begun
    print(f"{PODS} pods created in {created_s:.1f} s, all bound and placed in the documents after "
          f"{placed_s:.1f} s, all gone {gone_s:.1f} s after their deletion began")  # fmt: skip
    assert placed_s < 2 * created_s + 10, "the controller falls behind"
    assert not [each for each in caplog.messages if "no list or change" in each]
