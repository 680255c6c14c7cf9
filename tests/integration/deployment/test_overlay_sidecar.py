"""The overlay's sidecar in training pods: who gets it, that `restricted` and the policy of sockets
take it, and that it and the host's agent mean the same sockets. ``test_unprivileged_peers`` proves
that the rights of both suffice."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import dynamic
from kubernetes.client.exceptions import ApiException

from probers.command_line.argument_parser import parser
from probers.command_line.options import parse

from .kubernetes_tools import K8S, Object, apply, build, of_kind

pytestmark = pytest.mark.kubernetes
EXAMPLE = K8S / "examples" / "training"
SIDECAR = K8S / "components" / "overlay-sidecar"
HOST = K8S / "components" / "containers-host"
LABEL = {"skeletonhunter.io/overlay-agent": "true"}
_LONG_S = 120.0


def kustomization(folder: Path, **fields: list[Any]) -> Path:
    """A kustomization in a folder; existing folders are named relatively, as kustomize wants."""
    named = {
        field: [os.path.relpath(e, folder.resolve()) if isinstance(e, Path) else e for e in each]
        for field, each in fields.items()
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(named))
    return folder


def workload(kind: str, version: str, pod: Object, labels: dict[str, str]) -> Object:
    spec: Object = pod if kind == "Pod" else {"template": {"spec": pod}}
    return {"apiVersion": version, "kind": kind, "spec": spec,
            "metadata": {"name": f"{kind.lower()}-{len(labels)}", "labels": labels}}  # fmt: skip


def pod_of(each: Object) -> Object:
    spec: Object = each["spec"]
    return spec["template"]["spec"] if "template" in spec else spec


@pytest.fixture(scope="module")
def example() -> list[Object]:
    return build(EXAMPLE)


@pytest.fixture(scope="module")
def namespace(
    cluster: dynamic.DynamicClient, example: list[Object]
) -> Iterator[dynamic.DynamicClient]:
    """The API server with the example applied, and the account that a controller would make."""
    for each in example:
        apply(cluster, each)
    place = {"name": "default", "namespace": "train"}
    apply(cluster, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place})
    return cluster


def create(cluster: dynamic.DynamicClient, spec: Object) -> Object:
    pods = cluster.resources.get(api_version="v1", kind="Pod")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    made: Object = pods.create(body=pod, namespace="train", dry_run="All").to_dict()
    return made


def test_only_what_has_the_label_gets_the_sidecar_beside_what_it_has(tmp_path: Path) -> None:
    own = {"initContainers": [{"name": "fetch", "image": "i"}], "volumes": [{"name": "data"}],
           "containers": [{"name": "c", "image": "i"}]}  # fmt: skip
    kinds = {"Job": "batch/v1", "StatefulSet": "apps/v1", "Deployment": "apps/v1", "Pod": "v1"}
    objects = [workload(kind, version, own, labels)
               for kind, version in kinds.items() for labels in (LABEL, {})]  # fmt: skip
    (tmp_path / "own.yaml").write_text(yaml.safe_dump_all(objects))
    folder = kustomization(tmp_path, resources=["own.yaml"], components=[SIDECAR])
    for each in build(folder):
        pod = pod_of(each)
        if each["metadata"].get("labels") != LABEL:
            assert pod == own
            continue
        started = {c["name"]: c for c in pod["initContainers"]}
        assert set(started) == {"fetch", "skeletonhunter-agent"}
        assert started["skeletonhunter-agent"]["restartPolicy"] == "Always"
        assert "restartPolicy" not in started["fetch"]
        assert {"data"} < {volume["name"] for volume in pod["volumes"]}
        assert pod["containers"] == own["containers"]


def test_the_patch_for_pods_is_that_for_templates() -> None:
    files = [yaml.safe_load((SIDECAR / f"in-{n}.yaml").read_text()) for n in ("template", "pod")]
    assert pod_of(files[0]) == pod_of(files[1])


def test_restricted_takes_the_sidecar_and_the_pod_stays_guaranteed(
    namespace: dynamic.DynamicClient, example: list[Object]
) -> None:
    (job,) = of_kind(example, "Job").values()
    made = create(namespace, pod_of(job))
    assert made["status"]["qosClass"] == "Guaranteed"
    (sidecar,) = made["spec"]["initContainers"]
    assert sidecar["restartPolicy"] == "Always"


def test_restricted_refuses_the_folder_of_the_host_itself(
    namespace: dynamic.DynamicClient, example: list[Object]
) -> None:
    """Why there is a claim."""
    (job,) = of_kind(example, "Job").values()
    spec = pod_of(job)
    path = {"path": "/var/lib/skeletonhunter/sockets"}
    volumes = [{"name": "skeletonhunter-sockets", "hostPath": path}, *spec["volumes"][1:]]
    with pytest.raises(ApiException, match=r"violates PodSecurity.*hostPath"):
        create(namespace, {**spec, "volumes": volumes})


def test_a_pod_that_could_write_beside_the_sockets_is_refused(
    namespace: dynamic.DynamicClient, example: list[Object], tmp_path: Path
) -> None:
    host = build(kustomization(tmp_path, resources=[K8S / "base"], components=[HOST]))
    for each in host:
        if each["kind"].startswith("ValidatingAdmissionPolicy"):
            apply(namespace, each)
    (job,) = of_kind(example, "Job").values()
    spec = pod_of(job)
    claim = {"claimName": "skeletonhunter-sockets"}
    volumes = [{**spec["volumes"][0], "persistentVolumeClaim": claim}, *spec["volumes"][1:]]
    refusal = ""
    deadline = time.monotonic() + _LONG_S
    while not refusal and time.monotonic() < deadline:
        try:
            create(namespace, {**spec, "volumes": volumes})
            time.sleep(0.1)  # the server learns of a policy after it has taken it
        except ApiException as why:
            refusal = str(why.body)
    assert "skeletonhunter-sockets is mounted with readOnly" in refusal
    assert create(namespace, spec), "read-only it may"
    bare = {k: v for k, v in spec.items() if k not in ("volumes", "initContainers")}
    assert create(namespace, bare), "a pod without volumes may"


def test_the_host_listens_where_the_sidecar_connects(
    example: list[Object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = pod_of(
        of_kind(build(kustomization(tmp_path, resources=[K8S / "base"], components=[HOST])),
                "DaemonSet")["agent"]
    )  # fmt: skip
    assert agent["hostPID"] is True
    # Kubernetes puts in the node's address, which the agent does not take in any other form.
    expanded = [a.replace("$(HOST_IP)", "10.0.0.7") for a in agent["containers"][0]["args"]]
    host = parser().parse_args(expanded)
    assert host.health_listen == ("10.0.0.7", 8772)
    (sidecar,) = pod_of(of_kind(example, "Job")["pretrain"])["initContainers"]
    monkeypatch.setenv("SKH_PROBE_KEY", "k" * 64)
    inside = parse(sidecar["args"])
    (mounted,) = (m for m in sidecar["volumeMounts"] if m["name"] == "skeletonhunter-sockets")
    (volume,) = of_kind(example, "PersistentVolume").values()
    folder, here = Path(volume["spec"]["hostPath"]["path"]), Path(mounted["mountPath"])
    assert folder / Path(inside.host_agent).relative_to(here) == Path(host.containers_listen)
    relay = Path(inside.publish.removeprefix("unix:")).relative_to(here)
    assert [str(folder / relay)] == [path for path, _ in host.relay_listen]
    assert inside.layer == "overlay"
    user = {**agent["securityContext"], **agent["containers"][0]["securityContext"]}["runAsUser"]
    assert sidecar["securityContext"]["runAsUser"] == user, "else it may not connect"
    (claim,) = of_kind(example, "PersistentVolumeClaim").values()
    assert volume["spec"]["claimRef"]["name"] == claim["metadata"]["name"]
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
