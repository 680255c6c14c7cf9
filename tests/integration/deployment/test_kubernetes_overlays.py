"""k8s/overlays and k8s/components, built by kustomize: what they change, and that a real API server
takes them; objects of operators against the operators' own definitions."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from builders.monitoring.prometheus_tools import tool
from kubernetes import dynamic

from schemas import topics
from schemas.metrics import Metric, stream

from .kubernetes_tools import (
    K8S,
    ROOT,
    Object,
    apply,
    build,
    by_name,
    define,
    of_kind,
    operators_definition,
)

pytestmark = pytest.mark.kubernetes
OVERLAYS = ("dev", "prod", "prod-operators")
STRIMZI = K8S / "components" / "strimzi"


def overlay(name: str) -> list[Object]:
    return build(K8S / "overlays" / name)


def containers(workload: Object) -> list[Object]:
    found: list[Object] = workload["spec"]["template"]["spec"]["containers"]
    return found


@pytest.fixture(scope="module")
def defined(cluster: dynamic.DynamicClient) -> dynamic.DynamicClient:
    """The API server with the definitions of the Prometheus operator and KEDA."""
    for name in ("monitoring.coreos.com_podmonitors", "monitoring.coreos.com_prometheusrules",
                 "keda.sh_scaledobjects"):  # fmt: skip
        define(cluster, operators_definition(name))
    return cluster


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_object_of_an_overlay_is_applied_and_admission_takes_its_pods(
    defined: dynamic.DynamicClient, name: str
) -> None:
    objects = overlay(name)
    for each in objects:
        apply(defined, each)
    pods = defined.resources.get(api_version="v1", kind="Pod")
    for workload in of_kind(objects, "Deployment", "StatefulSet").values():
        template = workload["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
               "metadata": {"name": workload["metadata"]["name"], "labels": {
                   **template["metadata"]["labels"], "pod-template-hash": "1",
                   "controller-revision-hash": "1"}}}  # fmt: skip
        pods.create(body=pod, namespace=workload["metadata"]["namespace"], dry_run="All")


def test_dev_is_one_small_pod_of_each_part_and_otherwise_the_base() -> None:
    base, dev = by_name(build(K8S / "base")), by_name(overlay("dev"))
    assert {key[0] for key in base.keys() - dev.keys()} == {"PodDisruptionBudget"}
    assert not dev.keys() - base.keys()
    memory = 0
    for key, each in dev.items():
        if key[0] in ("Deployment", "StatefulSet"):
            assert each["spec"]["replicas"] == 1
            (container,) = containers(each)
            (same,) = containers(base[key])
            memory += int(container["resources"]["limits"]["memory"].removesuffix("Mi").replace(
                "1Gi", "1024"))  # fmt: skip
            container["resources"] = same["resources"]
            each["spec"]["replicas"] = base[key]["spec"]["replicas"]
        assert each == base[key], "dev changes how many and how much, nothing else"
    assert memory <= 3 * 1024


def test_prod_spreads_every_part_and_scales_what_has_no_number() -> None:
    objects = overlay("prod")
    scaled = of_kind(objects, "HorizontalPodAutoscaler")
    (priority,) = of_kind(objects, "PriorityClass")
    for name, workload in of_kind(objects, "Deployment", "StatefulSet").items():
        spec = workload["spec"]["template"]["spec"]
        assert spec["priorityClassName"] == priority
        node, zone = spec["topologySpreadConstraints"]
        assert (node["topologyKey"], node["whenUnsatisfiable"]) == (
            "kubernetes.io/hostname", "DoNotSchedule",
        )  # fmt: skip
        assert (node["maxSkew"], node["minDomains"]) == (1, 2), "one node that fails is not all"
        assert zone["topologyKey"] == "topology.kubernetes.io/zone"
        if name in scaled:
            target = scaled[name]["spec"]["scaleTargetRef"]
            assert (target["kind"], target["name"]) == (workload["kind"], name)
            assert "replicas" not in workload["spec"], "applied again, it would undo the scaling"
            assert scaled[name]["spec"]["minReplicas"] >= 2
        else:
            assert workload["spec"]["replicas"] >= 2


def test_no_more_workers_than_partitions_and_one_autoscaler_for_each_part() -> None:
    prod, operators = overlay("prod"), overlay("prod-operators")
    worker = of_kind(prod, "HorizontalPodAutoscaler")["worker"]["spec"]
    (scaled,) = of_kind(operators, "ScaledObject").values()
    assert worker["maxReplicas"] == topics.PINGS.partitions == scaled["spec"]["maxReplicaCount"]
    assert set(of_kind(operators, "HorizontalPodAutoscaler")) == {"api"}
    target = scaled["spec"]["scaleTargetRef"]
    assert target["name"] in of_kind(operators, target["kind"])
    (query,) = (t["metadata"]["query"] for t in scaled["spec"]["triggers"] if t["type"] != "cpu")
    known = {each.name for each in vars(stream).values() if isinstance(each, Metric)}
    assert set(re.findall(r"skh_\w+", query)) <= known


def test_the_rules_and_dashboards_are_those_of_prometheus_and_grafana() -> None:
    objects = overlay("prod-operators")
    (rule,) = of_kind(objects, "PrometheusRule").values()
    source = yaml.safe_load((ROOT / "prometheus" / "alerts.yml").read_text())
    assert rule["spec"] == source
    maps = of_kind(objects, "ConfigMap")
    folder = ROOT / "grafana" / "dashboards"
    dashboards = maps["skeletonhunter-dashboards"]
    assert dashboards["data"] == {path.name: path.read_text() for path in folder.iterdir()}
    assert dashboards["metadata"]["labels"] == {"grafana_dashboard": "1"}
    (source_file,) = (ROOT / "grafana" / "provisioning" / "datasources").iterdir()
    assert maps["skeletonhunter-datasources"]["data"] == {source_file.name: source_file.read_text()}


def test_every_part_is_scraped_with_the_labels_that_alerts_use() -> None:
    objects = overlay("prod-operators")
    monitor = of_kind(objects, "PodMonitor")["skeletonhunter"]
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    for workload in of_kind(objects, "Deployment", "StatefulSet").values():
        assert wanted <= workload["spec"]["template"]["metadata"]["labels"].items()
        (container,) = containers(workload)
        assert endpoint["port"] in {port["name"] for port in container["ports"]}
    prometheus = yaml.safe_load((ROOT / "prometheus" / "prometheus.yml").read_text())
    job = prometheus["scrape_configs"][0]
    fixed = {r["targetLabel"]: r["replacement"] for r in endpoint["relabelings"]
             if "sourceLabels" not in r}  # fmt: skip
    assert fixed == {"job": job["job_name"]}
    assert endpoint["interval"] == prometheus["global"]["scrape_interval"]
    named = {t["labels"]["part"] for t in job["static_configs"]} | {"notify"}
    parts = set(of_kind(objects, "Deployment", "StatefulSet"))
    (renamed,) = (r for r in endpoint["relabelings"] if "regex" in r)
    assert {renamed["replacement"] if p == renamed["regex"] else p for p in parts} == named


def test_agents_are_scraped_with_the_labels_that_their_alerts_use(tmp_path: Path) -> None:
    """Relabelled as Prometheus would do it, two nodes that do not answer make the alert fire."""
    objects = overlay("prod-operators")
    monitor = of_kind(objects, "PodMonitor")["agents"]
    (agent,) = of_kind(objects, "DaemonSet").values()
    assert monitor["metadata"]["namespace"] == agent["metadata"]["namespace"]
    labels = agent["spec"]["template"]["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    (container,) = containers(agent)
    assert [endpoint["port"]] == [port["name"] for port in container["ports"]]
    job = yaml.safe_load((ROOT / "prometheus" / "prometheus.yml").read_text())["scrape_configs"][1]
    assert endpoint["interval"] == job["scrape_interval"]
    down = [scraped(endpoint["relabelings"], {"__meta_kubernetes_pod_node_name": name,
                    "instance": "10.0.0.1:8772"}) for name in ("host-17", "host-18")]  # fmt: skip
    assert down[0] == {"job": job["job_name"], "instance": "host-17"}
    age = promql("skh_agent_list_age_seconds", down[0])
    series = [{"series": promql("up", each), "values": "0x20"} for each in down]
    series.append({"series": age, "values": "300x20"})
    test = {"rule_files": [str(ROOT / "prometheus" / "alerts.yml")], "evaluation_interval": "15s",
            "tests": [{"interval": "15s", "input_series": series, "alert_rule_test": [
                fires("SkhAgentsDown", {}, "2 agents' pages do not answer"),
                fires("SkhAgentListLost", down[0],
                      "The agent host-17 has read no ping list for 5m 0s"),
            ]}]}  # fmt: skip
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(test))
    done = subprocess.run([tool("promtool"), "test", "rules", str(tmp_path / "tests.yml")],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def fires(name: str, labels: dict[str, str], summary: str) -> Object:
    """An alert that promtool must find firing after three minutes, word for word."""
    notes = {"summary": summary, "runbook": f"docs/alerts.md#{name.lower()}"}
    alert = {"exp_labels": {"severity": "ticket", **labels}, "exp_annotations": notes}
    return {"alertname": name, "eval_time": "3m", "exp_alerts": [alert]}


def scraped(relabelings: list[Object], labels: dict[str, str]) -> dict[str, str]:
    """Labels after relabellings of the kinds that the monitors use: fixed, and copied."""
    found = dict(labels)
    for each in relabelings:
        assert each.keys() <= {"targetLabel", "replacement", "sourceLabels"}
        (source,) = each.get("sourceLabels", [""])
        found[each["targetLabel"]] = found[source] if source else each["replacement"]
    return {name: value for name, value in found.items() if not name.startswith("__")}


def promql(name: str, labels: dict[str, str]) -> str:
    pairs = (f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{','.join(pairs)}}}"


def test_every_folder_that_is_a_kustomization_is_built_by_a_test() -> None:
    """A component is part of an overlay, or is built by a test of its own."""
    folders = {p.parent for p in K8S.rglob("kustomization.yaml")} | {ROOT / "grafana"}
    used = {K8S / "overlays" / name for name in OVERLAYS} | {STRIMZI}
    used |= {K8S / "examples" / "training", K8S / "components" / "containers-host"}
    open_ones = list(used)
    while open_ones:
        folder = open_ones.pop()
        text = yaml.safe_load((folder / "kustomization.yaml").read_text())
        for name in [*text.get("resources", ()), *text.get("components", ())]:
            path = Path(folder / name).resolve()
            if path.is_dir() and path not in used:
                used.add(path)
                open_ones.append(path)
    assert folders == used
