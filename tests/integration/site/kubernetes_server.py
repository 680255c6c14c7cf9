"""A Kubernetes API server with its etcd on loopback, for tests that must not trust an imitation.

There are no controllers and no nodes (``kubernetes_controllers`` has them): what they would do, as
making a namespace's default ServiceAccount or ending a deleted pod, tests do by themselves.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, config, utils

from testbed.services.ports import free_port

VERSION = os.environ.get("KUBERNETES_VERSION", "1.34.4")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
BINARY = _CACHE / "skeletonhunter" / f"kube-{VERSION}" / "kube-apiserver"
_ADMIN = "an-administrator-of-this-test"
_USER = "a-user-of-this-test"  # without any right of its own
_START_S = 300.0


def missing() -> str | None:
    """Why an API server cannot be started here, or None."""
    if not BINARY.exists():
        return f"{BINARY} is not there (make kubernetes-tools builds it)"
    for program in ("etcd", "openssl"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


class KubernetesServer:
    """Starts on construction; ``stop`` ends its processes and no others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self._etcd_port, peer = free_port(), free_port(), free_port()
        key, public = folder / "sa.key", folder / "sa.pub"
        for arguments in (
            ("genrsa", "-out", key, "2048"),
            ("rsa", "-in", key, "-pubout", "-out", public),
        ):
            subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
        (folder / "tokens.csv").write_text(f'{_ADMIN},admin,1,"system:masters"\n{_USER},user,2\n')
        self._etcd = self.start(
            "etcd", "--data-dir", str(folder / "etcd"),
            "--listen-client-urls", self._etcd_url, "--advertise-client-urls", self._etcd_url,
            "--listen-peer-urls", f"http://127.0.0.1:{peer}",
        )  # fmt: skip
        self._api: subprocess.Popen[bytes] | None = None
        self.start_api()

    @property
    def admin(self) -> str:
        """An administrator's token."""
        return _ADMIN

    @property
    def _etcd_url(self) -> str:
        return f"http://127.0.0.1:{self._etcd_port}"

    def start_api(self) -> None:
        """Return when it is ready; etcd keeps what there was."""
        folder = self.folder
        self._api = self.start(
            str(BINARY), f"--etcd-servers={self._etcd_url}", f"--cert-dir={folder / 'certs'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder / 'sa.pub'}",
            f"--service-account-signing-key-file={folder / 'sa.key'}",
            "--authorization-mode=RBAC", f"--token-auth-file={folder / 'tokens.csv'}",
            "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            "--service-cluster-ip-range=10.96.0.0/16",
            # Debian's etcd lacks what it needs; a client that asks for it would begin anew for ever
            "--feature-gates=WatchList=false",
        )  # fmt: skip
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and self._api.poll() is None:
            try:
                if client.VersionApi(self.client(_ADMIN)).get_code() and self._is_ready():
                    return
            except Exception:
                time.sleep(0.2)  # between two looks at a condition with a deadline
        log = (folder / "kube-apiserver.log").read_text()[-3000:]
        self.stop()
        raise RuntimeError(f"the API server did not start:\n{log}")

    def stop_api(self) -> None:
        """End the API server; etcd goes on."""
        end(self._api)

    def stop(self) -> None:
        """End both."""
        end(self._api)
        end(self._etcd)

    def kubeconfig(self, token: str) -> Path:
        """A file with the server and the token."""
        path = self.folder / f"kubeconfig-{len(list(self.folder.glob('kubeconfig-*')))}"
        path.write_text(json.dumps(self._config(token)))
        return path

    def client(self, token: str = _ADMIN) -> client.ApiClient:
        """The official client with the token; an administrator's by default."""
        return config.new_client_from_config_dict(self._config(token))

    def apply(self, manifest: Path) -> None:
        """Create the objects of a manifest, as an administrator."""
        for each in yaml.safe_load_all(manifest.read_text()):
            utils.create_from_dict(self.client(), each)

    def account_token(self, name: str, namespace: str) -> str:
        """A token of a ServiceAccount."""
        answer = client.CoreV1Api(self.client()).create_namespaced_service_account_token(
            name, namespace, {"spec": {"expirationSeconds": 3600}}
        )
        token: str = answer.status.token
        return token

    def _is_ready(self) -> bool:
        """Whether the server has made what it makes after its start: the namespace, and the rights
        of every user, of which its authorizer learns later; without them, raises ApiException."""
        names = client.CoreV1Api(self.client()).list_namespace().items
        client.AuthorizationV1Api(self.client(_USER)).create_self_subject_rules_review(
            {"spec": {"namespace": "default"}}
        )
        return any(each.metadata.name == "default" for each in names)

    def _config(self, token: str) -> dict[str, Any]:
        certificate = self.folder / "certs" / "apiserver.crt"
        return {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": f"https://127.0.0.1:{self.port}",
                "certificate-authority": str(certificate),
            }}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }  # fmt: skip

    def start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{Path(program).name}.log").open("ab") as log:
            return subprocess.Popen(
                ["nice", "-n", "5", program, *arguments], stdout=log, stderr=log, cwd=self.folder
            )


def end(process: subprocess.Popen[bytes] | None) -> None:
    """SIGTERM, then SIGKILL after twenty seconds."""
    if process is not None and process.poll() is None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
