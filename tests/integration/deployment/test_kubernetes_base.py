"""k8s/base against a real API server: every object is taken, and admission takes the pods.

There are no nodes and no controllers here (``test_kubernetes_rollout`` has them), so no pod runs;
commands, variables and health checks of the same services run as processes in ``test_compose``.
"""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
import yaml
from kubernetes import dynamic
from kubernetes.client.exceptions import ApiException

from schemas.kafka_client import parse_json
from skeletonhunter.services.health import PORTS
from skeletonhunter.settings import PREFIX, Settings, examine

from .kubernetes_tools import K8S, WORKLOADS, apply

BASE = K8S / "base"


def objects() -> list[dict[str, Any]]:
    """What kustomization.yaml names, in its order."""
    files = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    assert {path.name for path in BASE.iterdir()} - {"kustomization.yaml"} == set(files)
    return [each for name in files for each in yaml.safe_load_all((BASE / name).read_text())]


def of_kind(*kinds: str) -> list[dict[str, Any]]:
    return [each for each in objects() if each["kind"] in kinds]


@pytest.mark.kubernetes
def test_every_object_is_applied_twice_without_an_unknown_field(
    cluster: dynamic.DynamicClient,
) -> None:
    for _ in range(2):
        for each in objects():
            apply(cluster, each)
    wrong = {**of_kind("ConfigMap")[0], "dta": {}}
    with pytest.raises(ApiException, match="field not declared in schema"):
        apply(cluster, wrong)


@pytest.mark.kubernetes
def test_admission_takes_every_pod_and_restricted_refuses_the_agent(
    cluster: dynamic.DynamicClient,
) -> None:
    for each in of_kind("Namespace", "ServiceAccount"):
        apply(cluster, each)
    pods = cluster.resources.get(api_version="v1", kind="Pod")

    def create(workload: dict[str, Any], namespace: str) -> None:
        spec = dict(workload["spec"]["template"]["spec"])
        if namespace != workload["metadata"]["namespace"]:
            spec["serviceAccountName"] = "parts"
        spec.pop("priorityClassName", None)  # controllers of the cluster make its classes
        name = workload["metadata"]["name"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        pods.create(body=pod, namespace=namespace, dry_run="All")

    for workload in of_kind(*WORKLOADS):
        create(workload, workload["metadata"]["namespace"])
    (agent,) = of_kind("DaemonSet")
    with pytest.raises(ApiException, match="violates PodSecurity"):
        create(agent, "skeletonhunter")


def test_no_object_is_named_twice() -> None:
    """The second would take away what only the first has, as a namespace's labels."""
    names = [
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
        for each in objects()
    ]
    assert len(set(names)) == len(names)


def test_the_controllers_rights_are_those_of_the_file_for_it_alone() -> None:
    alone = list(yaml.safe_load_all((K8S / "controller-rbac.yaml").read_text()))
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        assert of_kind(kind) == [each for each in alone if each["kind"] == kind]


def test_each_part_has_settings_that_it_reads_and_a_port_that_is_asked() -> None:
    maps = {each["metadata"]["name"]: each["data"] for each in of_kind("ConfigMap")}
    for workload in of_kind("Deployment", "StatefulSet"):
        (container,) = workload["spec"]["template"]["spec"]["containers"]
        (part,) = container["args"]
        values = {each["name"]: each.get("value", "of-the-pod") for each in container["env"]}
        for source in container["envFrom"]:
            values |= maps[source["configMapRef"]["name"]]
        assert examine(values).mistakes == []
        for name in values:
            extra = Settings.model_fields[name.removeprefix(PREFIX).lower()].json_schema_extra
            assert isinstance(extra, dict)
            assert part in extra["read_by"], f"{part} does not read {name}"  # type: ignore[operator]
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        assert ports["health"] == PORTS[part]
        assert container["readinessProbe"]["httpGet"]["port"] == "health"
    parse_json(maps["settings"]["SKH_KAFKA_OPTIONS"])


def test_a_worker_has_the_name_of_its_pod_which_is_the_same_after_a_restart() -> None:
    (worker,) = of_kind("StatefulSet")
    (container,) = worker["spec"]["template"]["spec"]["containers"]
    (name,) = (each for each in container["env"] if each["name"] == "SKH_INSTANCE")
    assert name["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}


#: One of them leads and is ready; the others stand by and are not.
LED = ("controller", "notify")


def test_what_runs_twice_has_a_disruption_budget_and_what_is_led_is_recreated() -> None:
    """A new pod of a led part is not ready before the old one has ended, so a rolling update would
    wait for ever; and a budget of two, of which one is ready, never lets the leader be evicted."""
    workloads = {w["metadata"]["name"]: w for w in of_kind(*WORKLOADS)}
    twice = {name for name, w in workloads.items() if w["spec"].get("replicas", 0) > 1}
    budgets = {each["metadata"]["name"] for each in of_kind("PodDisruptionBudget")}
    assert budgets == twice - set(LED)
    for name in LED:
        assert workloads[name]["spec"]["strategy"] == {"type": "Recreate"}


def test_agents_pages_are_on_the_hosts_address_for_the_kubelet_and_named_networks_only() -> None:
    """Policies do not apply to the host's network, so the agent has to be told who may ask."""
    (agent,) = of_kind("DaemonSet")
    pod = agent["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["hostNetwork"]
    options = dict(each.removeprefix("--").split("=", 1) for each in container["args"])
    (port,) = container["ports"]
    assert options["health-listen"] == f"$(HOST_IP):{port['containerPort']}"
    assert ip_network(options["health-from"]).is_private
    (address,) = (each for each in container["env"] if each["name"] == "HOST_IP")
    assert address["valueFrom"] == {"fieldRef": {"fieldPath": "status.hostIP"}}
    names = [each["name"] for each in container["env"]]
    assert len(names) == len(set(names))
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"].keys() == {"path", "port"}, "of the host's address"
        assert container[probe]["httpGet"]["port"] == port["name"]


def test_every_namespace_denies_by_default() -> None:
    denied = {
        each["metadata"]["namespace"]
        for each in of_kind("NetworkPolicy")
        if each["metadata"]["name"] == "default-deny"
    }
    assert {"skeletonhunter", "skeletonhunter-agents"} == denied


def test_only_the_controller_has_a_token_of_the_api_server() -> None:
    accounts = {each["metadata"]["name"]: each for each in of_kind("ServiceAccount")}
    assert {n for n, a in accounts.items() if a.get("automountServiceAccountToken", True)} == {
        "controller"
    }
    used = {
        w["metadata"]["name"]: w["spec"]["template"]["spec"]["serviceAccountName"]
        for w in of_kind(*WORKLOADS)
    }
    assert {name for name, account in used.items() if account == "controller"} == {"controller"}
