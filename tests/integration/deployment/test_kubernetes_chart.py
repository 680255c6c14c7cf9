"""k8s/helm/skeletonhunter, with helm itself: by default it is the base; values go where they
belong; a real API server installs, upgrades and uninstalls it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, dynamic

from ..site.kubernetes_server import KubernetesServer
from .kubernetes_tools import K8S, TOOLS, WORKLOADS, apply, build, by_name, documents, of_kind, run

pytestmark = pytest.mark.kubernetes
CHART = K8S / "helm" / "skeletonhunter"
ELSEWHERE: dict[str, Any] = {
    "image": {"registry": "registry.example.com/", "tag": "9.9", "pullSecrets": [{"name": "pull"}]},
    "namespaces": {"parts": "watch", "agents": "watch-agents"},
    "secret": "keys",
    "kafka": {"bootstrap": "k:9999", "port": 9999, "namespace": "mq", "options": '{"a": "b"}',
              "agentOptions": '{"c": "d"}'},
    "clickhouse": {"url": "http://h:1/d", "port": 1, "namespace": "olap"},
    "monitoring": {"namespace": "metrics"},
    "logLevel": "DEBUG",
    "scheduling": {"nodeSelector": {"pool": "infra"}, "tolerations": [{"operator": "Exists"}],
                   "affinity": {"nodeAffinity": {}},
                   "priorityClassName": "system-cluster-critical"},
    "controller": {"replicas": 3, "pods": "train", "resources": {"requests": {"cpu": "7"}}},
    "worker": {"replicas": 4}, "sink": {"replicas": 5}, "notify": {"replicas": 6},
    "api": {"replicas": 7, "names": ["skh.example.com"]},
    "agent": {"allowCidr": "192.0.2.0/24", "healthFrom": "198.51.100.0/24",
              "nodeSelector": {"gpu": "yes"}},
}  # fmt: skip
DIGEST = f"sha256:{'5' * 64}"
SCALED: dict[str, Any] = {
    "keda": True, "lagSeconds": 7, "prometheus": "http://p:9",
    "api": {"minReplicas": 3, "maxReplicas": 5, "cpu": 40},
    "worker": {"minReplicas": 1, "maxReplicas": 3, "cpu": 41},
}  # fmt: skip


def render(*options: str | Path) -> list[dict[str, Any]]:
    return documents(run("helm", "template", "skh", CHART, *options))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A file in which nearly every value is another one."""
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(ELSEWHERE))
    return path


def test_the_chart_is_the_base() -> None:
    assert by_name(render("--set", "namespaces.create=true")) == by_name(build(K8S / "base"))
    run("helm", "lint", "--strict", CHART)


def test_namespaces_policies_agent_and_notifier_can_be_left_out() -> None:
    every = by_name(render("--set", "namespaces.create=true"))
    assert {key[0] for key in every.keys() - by_name(render()).keys()} == {"Namespace"}
    without = by_name(render("--set", "networkPolicies.enabled=false,agent.enabled=false",
                             "--set", "notify.enabled=false"))  # fmt: skip
    left_out = by_name(render()).keys() - without.keys()
    assert {key[0] for key in left_out} == {"NetworkPolicy", "DaemonSet", "Deployment"}
    assert {key[2] for key in left_out if key[0] == "Deployment"} == {"notify"}


def test_every_value_is_read(elsewhere: Path) -> None:
    """Each value that is changed alone changes what is rendered."""
    default = render()
    for path, value in leaves(ELSEWHERE):
        assert render("--set-json", f"{path}={json.dumps(value)}") != default, path


def leaves(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found = []
    for name, value in values.items():
        if isinstance(value, dict) and name not in ("nodeSelector", "affinity", "resources"):
            found += leaves(value, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", value))
    return found


def test_the_values_that_are_changed_here_are_all_that_there_are() -> None:
    known = yaml.safe_load((CHART / "values.yaml").read_text())
    switches = {"namespaces.create", "networkPolicies.enabled", "notify.enabled", "agent.enabled"}
    switches |= {"autoscaling.enabled", "image.digests.server", "image.digests.agent"}
    switches |= {f"autoscaling.{path}" for path, _ in leaves(SCALED)}
    alike = {f"{part}.resources" for part in ("worker", "sink", "api", "notify", "agent")}
    assert {p for p, _ in leaves(known)} == {p for p, _ in leaves(ELSEWHERE)} | switches | alike


def test_values_go_to_every_place_where_they_are_used(elsewhere: Path) -> None:
    objects = render("--values", elsewhere)
    places = {each["metadata"].get("namespace") for each in objects}
    assert places == {"watch", "watch-agents", None}
    for binding in of_kind(objects, "ClusterRoleBinding").values():
        assert binding["roleRef"]["name"] in of_kind(objects, "ClusterRole")
        assert binding["subjects"][0]["namespace"] == "watch"
    for name, workload in of_kind(objects, *WORKLOADS).items():
        pod = workload["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["image"].startswith("registry.example.com/skeletonhunter/")
        assert container["image"].endswith(":9.9")
        assert pod["imagePullSecrets"] == [{"name": "pull"}]
        assert pod["volumes"][0]["secret"]["secretName"] == "keys"
        if name != "agent":
            assert workload["spec"]["replicas"] == ELSEWHERE[name]["replicas"]
            assert {f: pod[f] for f in ELSEWHERE["scheduling"]} == ELSEWHERE["scheduling"]
    settings = of_kind(objects, "ConfigMap")
    assert settings["settings"]["data"]["SKH_KAFKA"] == "k:9999"
    assert settings["store"]["data"]["SKH_CLICKHOUSE_URL"] == "http://h:1/d"
    arguments = container_of(objects, "agent")["args"]
    assert "--controller=http://controller.watch.svc:8770" in arguments
    assert "--publish=kafka:k:9999" in arguments
    variables = {each["name"]: each["value"] for each in container_of(objects, "api")["env"]}
    assert json.loads(variables["SKH_API_NAMES"]) == ["api.watch.svc", "skh.example.com"]


@pytest.mark.parametrize("components", [["autoscaling"], ["autoscaling", "keda"]])
def test_scaled_it_is_the_base_with_the_components(tmp_path: Path, components: list[str]) -> None:
    here = os.path.relpath(K8S, tmp_path)
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [f"{here}/base"],
        "components": [f"{here}/components/{name}" for name in components],
    }  # fmt: skip
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    options = "namespaces.create=true,autoscaling.enabled=true"
    if "keda" in components:
        options += ",autoscaling.keda=true"
    scaled = by_name(render("--set", options))
    assert scaled == by_name(build(tmp_path))
    kinds = {key[0] for key in scaled}
    assert "HorizontalPodAutoscaler" in kinds
    assert ("ScaledObject" in kinds) == ("keda" in components)


def test_every_value_of_the_autoscalers_is_read_and_none_without_them() -> None:
    off = render()
    for keda in (False, True):
        on = ("--set", f"autoscaling.enabled=true,autoscaling.keda={str(keda).lower()}")
        default = render(*on)
        for path, value in leaves(SCALED):
            option = ("--set-json", f"autoscaling.{path}={json.dumps(value)}")
            assert render(*option) == off, path
            of_keda = path in ("lagSeconds", "prometheus")
            if path != "keda":
                assert (render(*on, *option) != default) == (keda or not of_keda), path
    other = render(*on, "--set-json", f"autoscaling.api={json.dumps(SCALED['api'])}")
    (api,) = of_kind(other, "HorizontalPodAutoscaler").values()
    assert (api["spec"]["scaleTargetRef"]["name"], api["spec"]["maxReplicas"]) == ("api", 5)


def test_an_image_with_a_digest_is_named_by_it() -> None:
    found = {
        name: workload["spec"]["template"]["spec"]["containers"][0]["image"]
        for name, workload in of_kind(
            render("--set", f"image.digests.server={DIGEST},image.registry=r/"), *WORKLOADS
        ).items()
    }
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    assert found.pop("agent") == f"r/skeletonhunter/agent:{version}"
    assert set(found.values()) == {f"r/skeletonhunter/server@{DIGEST}"}


def container_of(objects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    pod = of_kind(objects, *WORKLOADS)[name]["spec"]["template"]["spec"]
    found: dict[str, Any] = pod["containers"][0]
    return found


@pytest.mark.parametrize("wrong", ["kafak.bootstrap=k:1", "worker.replicas=two", "logLevle=INFO"])
def test_a_value_that_the_chart_does_not_read_is_refused(wrong: str) -> None:
    assert (TOOLS / "helm").exists()
    done = subprocess.run(
        [TOOLS / "helm", "template", "skh", CHART, "--set", wrong],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "values don't meet the specifications" in done.stderr


def test_an_api_server_installs_upgrades_and_uninstalls_it(
    server: KubernetesServer, cluster: dynamic.DynamicClient, elsewhere: Path
) -> None:
    for namespace in ("watch", "watch-agents"):
        apply(cluster, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    apps = client.AppsV1Api(server.client())
    options = ("--namespace", "watch", "--kubeconfig", server.kubeconfig(server.admin),
               "--values", elsewhere)  # fmt: skip
    run("helm", "install", "skh", CHART, *options)
    assert apps.read_namespaced_stateful_set("worker", "watch").spec.replicas == 4
    assert "port-forward svc/api" in run("helm", "get", "notes", "skh", *options[:4])
    run("helm", "upgrade", "skh", CHART, *options, "--set", "worker.replicas=3")
    assert apps.read_namespaced_stateful_set("worker", "watch").spec.replicas == 3
    run("helm", "upgrade", "skh", CHART, *options, "--set", "autoscaling.enabled=true")
    scalers = client.AutoscalingV2Api(server.client())
    listed = scalers.list_namespaced_horizontal_pod_autoscaler("watch").items
    assert {each.spec.scale_target_ref.name for each in listed} == {"api", "worker"}
    assert apps.read_namespaced_stateful_set("worker", "watch").spec.replicas in (1, 3)
    run("helm", "uninstall", "skh", *options[:4])
    assert apps.list_namespaced_deployment("watch").items == []
    assert apps.list_namespaced_daemon_set("watch-agents").items == []
