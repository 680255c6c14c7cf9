"""k8s/overlays/prod rolled out by Kubernetes' own controllers and scheduler on 1,000 nodes.

The nodes only pretend (kwok), so images, secrets, volumes and health checks stay unproven here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from kubernetes import client, dynamic
from kubernetes.client.exceptions import ApiException

from ..site import kubernetes_controllers, kubernetes_server
from ..site.kubernetes_controllers import Controllers
from ..site.kubernetes_server import KubernetesServer
from .kubernetes_tools import K8S, WORKLOADS, apply, build, of_kind

why_not = kubernetes_server.missing() or kubernetes_controllers.missing()
pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.skipif(why_not is not None, reason=str(why_not)),
]
HOSTS, OTHERS = 1000, 12
AGENTS, PARTS = "skeletonhunter-agents", "skeletonhunter"
_LONG_S = 300.0


class Rollout:
    """The overlay on a cluster of its own."""

    def __init__(self, server: KubernetesServer) -> None:
        self.objects = build(K8S / "overlays" / "prod")
        self.controllers = Controllers(server)
        self.apps = client.AppsV1Api(server.client())
        self.core = client.CoreV1Api(server.client())
        self.policy = client.PolicyV1Api(server.client())
        hosts = {"skeletonhunter.io/agent": "true"}
        self.controllers.add_nodes([f"host-{n:04}" for n in range(HOSTS)], hosts)
        self.controllers.add_nodes([f"infra-{n:02}" for n in range(OTHERS)], {})
        dynamic_client = dynamic.DynamicClient(server.client())
        for each in self.objects:
            if each["kind"] in WORKLOADS:  # kwok's pods take all of it to end
                each["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
            apply(dynamic_client, each)

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _LONG_S
        while not condition():
            assert (why := self.controllers.failed()) is None, why
            assert time.monotonic() < deadline, f"not within {_LONG_S:.0f} s: {what}"
            time.sleep(0.2)  # between two looks at a condition with a deadline

    def agents(self) -> client.V1DaemonSetStatus:
        return self.apps.read_namespaced_daemon_set("agent", AGENTS).status

    def agents_ready(self) -> bool:
        """All, with the newest template."""
        agent = self.apps.read_namespaced_daemon_set("agent", AGENTS)
        status = agent.status
        return (status.observed_generation, status.number_available or 0,
                status.updated_number_scheduled or 0) == (
            agent.metadata.generation, HOSTS, HOSTS,
        )  # fmt: skip

    def pods(self, component: str, namespace: str = PARTS) -> list[client.V1Pod]:
        """Pods of a part that are ready and not being deleted."""
        selector = f"app.kubernetes.io/component={component}"
        found = self.core.list_namespaced_pod(namespace, label_selector=selector).items
        return [
            pod for pod in found
            if pod.metadata.deletion_timestamp is None and any(
                each.type == "Ready" and each.status == "True"
                for each in pod.status.conditions or ()
            )
        ]  # fmt: skip


@pytest.fixture(scope="module")
def rollout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rollout]:
    server = KubernetesServer(tmp_path_factory.mktemp("rollout"))
    try:
        made = Rollout(server)
        yield made
        made.controllers.stop()
    finally:
        server.stop()


def test_an_agent_runs_on_every_labelled_node_and_on_no_other(rollout: Rollout) -> None:
    rollout.wait_for(rollout.agents_ready, f"{HOSTS} agents are available")
    assert rollout.agents().desired_number_scheduled == HOSTS
    places = Counter(pod.spec.node_name for pod in rollout.pods("agent", AGENTS))
    assert places == Counter(f"host-{n:04}" for n in range(HOSTS))


def test_every_other_part_is_ready_on_two_nodes_and_in_two_zones(rollout: Rollout) -> None:
    parts = of_kind(rollout.objects, "Deployment", "StatefulSet")
    assert len(parts) >= 5
    zones = {
        node.metadata.name: node.metadata.labels["topology.kubernetes.io/zone"]
        for node in rollout.core.list_node().items
    }
    for name in parts:
        rollout.wait_for(lambda name=name: len(rollout.pods(name)) >= 2, f"two pods of {name}")
        nodes = {pod.spec.node_name for pod in rollout.pods(name)}
        assert len(nodes) == len(rollout.pods(name)), f"{name}: {nodes}"
        assert len({zones[node] for node in nodes}) >= 2, f"{name}: {nodes}"


def test_agents_are_replaced_a_twentieth_at_a_time(rollout: Rollout) -> None:
    rollout.wait_for(rollout.agents_ready, f"{HOSTS} agents are available")
    rollout.apps.patch_namespaced_daemon_set("agent", AGENTS, {
        "spec": {"template": {"metadata": {"annotations": {"release": "next"}}}},
    })  # fmt: skip
    worst = 0

    def replaced() -> bool:
        nonlocal worst
        worst = max(worst, rollout.agents().number_unavailable or 0)
        return rollout.agents_ready()

    rollout.wait_for(replaced, "all agents are replaced")
    assert 0 < worst <= HOSTS // 20
    notes = [pod.metadata.annotations or {} for pod in rollout.pods("agent", AGENTS)]
    assert {each.get("release") for each in notes} == {"next"}


def test_a_drain_takes_one_worker_at_a_time(rollout: Rollout) -> None:
    """The budget refuses to evict the second worker until the first one is back."""
    rollout.wait_for(lambda: len(rollout.pods("worker")) == 2, "two workers")
    names = [pod.metadata.name for pod in rollout.pods("worker")]

    def evict(name: str) -> int:
        body = client.V1Eviction(metadata=client.V1ObjectMeta(name=name, namespace=PARTS))
        try:
            rollout.core.create_namespaced_pod_eviction(name, PARTS, body)
        except ApiException as why:
            return int(why.status)
        return 201

    def allowed() -> int:
        budget = rollout.policy.read_namespaced_pod_disruption_budget("worker", PARTS)
        return int(budget.status.disruptions_allowed)

    rollout.wait_for(lambda: allowed() == 1, "the budget has seen both")
    assert (evict(names[0]), evict(names[1])) == (201, 429)
    rollout.wait_for(lambda: allowed() == 1, "the first worker is back")
    assert evict(names[1]) == 201
    rollout.wait_for(lambda: len(rollout.pods("worker")) == 2, "two workers again")
