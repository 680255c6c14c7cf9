"""Kubernetes' controllers and scheduler beside a test's API server, and nodes that only pretend.

kwok takes the place of the kubelets: it says that nodes are ready and that pods which are bound to
them run. Nothing of a pod is run, and no secret, volume or health check of it is used.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from kubernetes import client

from .kubernetes_server import BINARY, KubernetesServer, end

PROGRAMS: Final = ("kube-controller-manager", "kube-scheduler", "kwok")
#: When kwok says what of nodes and pods, as its own module has it.
STAGES: Final = BINARY.parent / "kwok-stages.yaml"
_HOSTNAME: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_QUICK: Final = ("--kube-api-qps=1000", "--kube-api-burst=2000")


def missing() -> str | None:
    """Why they cannot be started here, or None."""
    for name in (*PROGRAMS, STAGES.name):
        if not (BINARY.parent / name).exists():
            return f"{BINARY.parent / name} is not there (make kubernetes-tools builds it)"
    return None


class Controllers:
    """Starts on construction; ``stop`` ends its processes and no others."""

    def __init__(self, server: KubernetesServer) -> None:
        self._server = server
        kubeconfig = f"--kubeconfig={server.kubeconfig(server.admin)}"
        alone = (kubeconfig, "--leader-elect=false", "--secure-port=0", *_QUICK)
        of_server = server.folder
        self._processes = [
            self._start(
                "kube-controller-manager", *alone,
                f"--service-account-private-key-file={of_server / 'sa.key'}",
                f"--root-ca-file={of_server / 'certs' / 'apiserver.crt'}",
                "--node-monitor-grace-period=1h",  # kwok need not say that its nodes are alive
            ),
            self._start("kube-scheduler", *alone),
            self._start(
                "kwok", kubeconfig, f"--config={STAGES}", "--manage-all-nodes=true",
                "--node-lease-duration-seconds=0", "--server-address=",
            ),
        ]  # fmt: skip

    def add_nodes(self, names: Sequence[str], labels: Mapping[str, str], zones: int = 3) -> None:
        """Create nodes, which kwok makes ready; they are in zones in turn."""
        core = client.CoreV1Api(self._server.client())

        def create(place: int) -> None:
            own = {_HOSTNAME: names[place], _ZONE: f"zone-{place % zones}", **labels}
            room = {"cpu": "192", "memory": "2Ti", "pods": "250"}
            core.create_node({
                "metadata": {"name": names[place], "labels": own},
                "status": {"allocatable": room, "capacity": room},
            })  # fmt: skip

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(create, range(len(names))))

    def failed(self) -> str | None:
        """The end of the log of a process that has ended, or None."""
        for process, name in zip(self._processes, PROGRAMS, strict=True):
            if process.poll() is not None:
                return f"{name}: {(self._server.folder / f'{name}.log').read_text()[-3000:]}"
        return None

    def stop(self) -> None:
        """End all three."""
        for process in self._processes:
            end(process)

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        return self._server.start(str(BINARY.parent / program), *arguments)
