"""A real API server: pods that are created there appear in the controller's documents, and the
shipped account is enough for it and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import Service
from builders.controller.pods import endpoints
from builders.controller.task_events import HOSTS

from controller.sources.kubernetes.api import ClusterPods
from controller.sources.kubernetes.source import VersionExpired
from controller.sources.kubernetes.tracker import PodOptions
from schemas.documents.times import milliseconds_of
from skeletonhunter.services.controller.pods import FollowedPods

from . import kubernetes_server

why_not = kubernetes_server.missing()
pytestmark = [
    pytest.mark.kubernetes, pytest.mark.anyio,
    pytest.mark.skipif(why_not is not None, reason=str(why_not)),
]  # fmt: skip

ROOT = Path(__file__).parents[3]
TOPOLOGY = two_tiers(HOSTS)
LONG_S = 120.0


class Cluster:
    """An API server with the shipped account and a namespace for pods."""

    def __init__(self, folder: Path) -> None:
        from kubernetes import client

        self.server = kubernetes_server.KubernetesServer(folder)
        self.core = client.CoreV1Api(self.server.client())
        self.server.apply(ROOT / "k8s" / "controller-rbac.yaml")
        self.core.create_namespace({"metadata": {"name": "train"}})
        # a controller of Kubernetes makes it; pods need it
        self.core.create_namespaced_service_account("train", {"metadata": {"name": "default"}})
        self.token = self.server.account_token("controller", "skeletonhunter")
        self.kubeconfig = self.server.kubeconfig(self.token)

    def create_pod(self, number: int, host: int, **labels: str) -> None:
        """A pod that is on a host from the beginning, as there is no scheduler."""
        self.core.create_namespaced_pod("train", {
            "metadata": {
                "name": f"p{number}",
                "labels": labels or {"batch.kubernetes.io/job-name": "job-a"},
                "annotations": {"skeletonhunter.io/endpoints": endpoints(number, host)},
            },
            "spec": {
                "nodeName": f"h{host:03}",
                "containers": [{"name": "main", "image": "none"}],
            },
        })  # fmt: skip

    def delete_pod(self, number: int, grace_s: int) -> None:
        self.core.delete_namespaced_pod(f"p{number}", "train", grace_period_seconds=grace_s)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("kubernetes"))
    yield made
    made.server.stop()


@pytest.fixture
def as_controller(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """KUBECONFIG is that of the shipped account; no pods are left of other tests."""
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    for each in cluster.core.list_namespaced_pod("train").items:
        cluster.core.delete_namespaced_pod(each.metadata.name, "train", grace_period_seconds=0)
    return cluster


@asynccontextmanager
async def following(service: Service, **options: Any) -> Any:
    """While the block runs, the service follows the pods."""
    pods = FollowedPods(
        service.site, ClusterPods(options.pop("namespace", "*"), **options),
        PodOptions(fabric="f1"),
    )  # fmt: skip
    tasks = [asyncio.create_task(pods.follow()), asyncio.create_task(stored(service))]
    try:
        yield
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def stored(service: Service) -> None:
    """Store documents again and again, as the service does."""
    while True:
        await service.site.flush()
        await asyncio.sleep(0.05)


def states(service: Service) -> dict[str, str]:
    """In the documents, by name of the pod."""
    return {
        each.node_id.partition("/")[2].partition(".")[0]: each.state
        for each in service.topics.documents().placements
    }


async def until(condition: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(LONG_S):
            while not condition():  # noqa: ASYNC110 — the API has no event for it
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"not within {LONG_S:.0f} s: {what}")


def made_service() -> Service:
    """Its clock is the API server's: pods get their times there."""
    service = Service(TOPOLOGY)
    service.now_ms = milliseconds_of("2100-01-01T00:00:00Z")
    return service


async def in_thread(act: Callable[..., object], *arguments: Any) -> None:
    await asyncio.to_thread(act, *arguments)


async def test_pods_come_drain_and_go_as_the_api_says(as_controller: Cluster) -> None:
    service, cluster = made_service(), as_controller
    await in_thread(cluster.create_pod, 0, 0)
    async with following(service):
        await until(lambda: states(service) == {"p0": "starting"}, "the listed pod is placed")
        await in_thread(cluster.create_pod, 1, 1)
        await until(lambda: states(service).get("p1") == "starting", "the new pod is placed")
        await in_thread(cluster.delete_pod, 1, 30)
        await until(lambda: states(service)["p1"] == "draining", "the deleted pod drains")
        await in_thread(cluster.delete_pod, 1, 0)
        await until(lambda: states(service)["p1"] == "gone", "the pod is gone")
    (job,) = service.topics.documents().jobs
    assert job.job == "train/job-a"
    box = next(each for each in service.topics.documents().placements if each.state == "starting")
    assert (box.node_sn, box.tenant, len(box.endpoints)) == ("h000", "train", 2)


async def test_what_vanishes_while_the_server_is_down_is_gone_and_the_watch_goes_on(
    as_controller: Cluster,
) -> None:
    service, cluster = made_service(), as_controller
    for number in range(2):
        await in_thread(cluster.create_pod, number, number)
    async with following(service):
        await until(lambda: len(states(service)) == 2, "both pods are placed")
        await in_thread(cluster.server.stop_api)
        await in_thread(cluster.server.start_api)
        await in_thread(cluster.delete_pod, 0, 0)
        await in_thread(cluster.create_pod, 2, 2)
        wanted = {"p0": "gone", "p1": "starting", "p2": "starting"}
        await until(lambda: states(service) == wanted, f"{wanted} after a restart of the server")


async def test_a_selector_leaves_other_pods_out(as_controller: Cluster) -> None:
    service, cluster = made_service(), as_controller
    await in_thread(cluster.create_pod, 0, 0)
    async with following(service, namespace="*", selector="team=a"):
        await asyncio.to_thread(lambda: cluster.create_pod(1, 1, team="a", **{"job-name": "job-b"}))
        await until(lambda: states(service) == {"p1": "starting"}, "the selected pod is placed")


async def test_a_version_that_the_server_has_forgotten_expires(as_controller: Cluster) -> None:
    async def expired() -> str:
        async for each in ClusterPods("*").watch("1"):
            return f"{each.kind} {each.code}"
        return "the watch ended"

    try:
        found = await expired()
    except VersionExpired:  # the answer itself has the status
        found = "ERROR 410"
    assert found == "ERROR 410"


async def test_the_shipped_account_may_list_and_watch_pods_and_nothing_else(
    as_controller: Cluster,
) -> None:
    from kubernetes import client

    own = client.AuthorizationV1Api(as_controller.server.client(as_controller.token))

    def rules() -> list[Any]:
        answer = own.create_self_subject_rules_review({"spec": {"namespace": "train"}})
        return list(answer.status.resource_rules)

    granted = {
        (resource, verb)
        for rule in await asyncio.to_thread(rules)
        for resource in rule.resources
        for verb in rule.verbs
        if resource not in ("selfsubjectreviews", "selfsubjectaccessreviews",
                            "selfsubjectrulesreviews")
    }  # fmt: skip
    assert granted == {("pods", "list"), ("pods", "watch")}
    core = client.CoreV1Api(as_controller.server.client(as_controller.token))
    refused: list[Callable[[], object]] = [
        lambda: core.list_secret_for_all_namespaces(),
        lambda: core.list_node(),
        lambda: core.delete_namespaced_pod("p0", "train"),
        lambda: core.create_namespaced_pod("train", {"metadata": {"name": "x"}}),
    ]
    for each in refused:
        with pytest.raises(client.ApiException) as why:
            await asyncio.to_thread(each)
        assert why.value.status == 403
