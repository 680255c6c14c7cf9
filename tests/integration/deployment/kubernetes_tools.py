"""kustomize, helm and a Kubernetes API server for the tests of k8s/."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import dynamic
from kubernetes.client.exceptions import ApiException

from ..site.kubernetes_server import BINARY

ROOT = Path(__file__).parents[3]
K8S = ROOT / "k8s"
TOOLS = BINARY.parents[1] / "kube-tools"
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
_LONG_S = 120.0

Object = dict[str, Any]


def run(tool: str, *arguments: str | Path) -> str:
    """What a tool of ``make kubernetes-tools`` printed; it must end with 0."""
    if not (TOOLS / tool).exists():
        pytest.skip(f"{TOOLS / tool} is not there (make kubernetes-tools builds it)")
    done = subprocess.run(
        [TOOLS / tool, *arguments], capture_output=True, text=True, check=False, timeout=_LONG_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(folder: Path) -> list[Object]:
    """The objects of a kustomization."""
    return documents(run("kustomize", "build", folder))


def documents(text: str) -> list[Object]:
    """The objects of a YAML text."""
    return [each for each in yaml.safe_load_all(text) if each]


def by_name(objects: list[Object]) -> dict[tuple[str, str, str], Object]:
    """Objects by kind, namespace and name; no two may have the same."""
    found = {
        (o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects
    }
    assert len(found) == len(objects)
    return found


def of_kind(objects: list[Object], *kinds: str) -> dict[str, Object]:
    """Objects of some kinds by name."""
    return {each["metadata"]["name"]: each for each in objects if each["kind"] in kinds}


def apply(cluster: dynamic.DynamicClient, each: Object, **more: str) -> Object:
    """Server-side apply, unknown fields refused; the object as the server holds it."""
    resource = cluster.resources.get(api_version=each["apiVersion"], kind=each["kind"])
    answer = resource.server_side_apply(
        body=each, name=each["metadata"]["name"], namespace=each["metadata"].get("namespace"),
        field_manager="test", **{"field_validation": "Strict", **more},
    )  # fmt: skip
    found: Object = answer.to_dict()
    return found


def define(cluster: dynamic.DynamicClient, definition: Object) -> None:
    """Install a CustomResourceDefinition, and return when objects of it can be made."""
    apply(cluster, definition, field_validation="Ignore")
    version = definition["spec"]["versions"][0]["name"]
    path = f"/apis/{definition['spec']['group']}/{version}/{definition['spec']['names']['plural']}"
    deadline = time.monotonic() + _LONG_S
    while True:
        try:
            cluster.request("get", path)
        except ApiException as why:
            if time.monotonic() > deadline or why.status != 404:
                raise
            time.sleep(0.1)  # between two looks at a condition with a deadline
        else:
            break
    cluster.resources.invalidate_cache()


def operators_definition(name: str) -> Object:
    """A definition as its operator's own module holds it."""
    path = TOOLS / "crds" / f"{name}.yaml"
    if not path.exists():
        pytest.skip(f"{path} is not there (make kubernetes-tools downloads it)")
    (found,) = documents(path.read_text())
    return found
