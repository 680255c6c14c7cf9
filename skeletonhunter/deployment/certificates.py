"""A certificate authority of the installation's own, and Kafka's certificate, by OpenSSL."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from skeletonhunter.errors import BadInput

#: How long both are valid [days]; the server's is made anew at each start of the installation.
DAYS: Final = 3650
_CA: Final = ("ca.key", "ca.pem")


def make_authority(folder: Path) -> None:
    """``ca.key`` and ``ca.pem`` in a folder, where they are missing; raises BadInput."""
    if all((folder / name).exists() for name in _CA):
        return
    _openssl(
        folder, "req", "-x509", "-newkey", "rsa:3072", "-sha256", "-nodes", "-days", str(DAYS),
        "-subj", "/CN=SkeletonHunter", "-keyout", _CA[0], "-out", _CA[1],
        "-addext", "keyUsage=critical,keyCertSign,cRLSign",
    )  # fmt: skip


def server_certificate(folder: Path, hosts: Sequence[str]) -> str:
    """A new key and a certificate for some names, in one PEM text; raises BadInput.

    folder  has the authority, and gets ``server.*``
    hosts   names and addresses under which clients reach the server
    """
    names = ",".join(f"{'IP' if _is_address(host) else 'DNS'}:{host}" for host in hosts)
    (folder / "server.ext").write_text(
        f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n"
    )
    _openssl(
        folder, "req", "-newkey", "rsa:3072", "-nodes", "-subj", f"/CN={hosts[0]}",
        "-keyout", "server.key", "-out", "server.csr",
    )  # fmt: skip
    _openssl(
        folder, "x509", "-req", "-in", "server.csr", "-CA", _CA[1], "-CAkey", _CA[0],
        "-CAcreateserial", "-sha256", "-days", str(DAYS), "-extfile", "server.ext",
        "-out", "server.pem",
    )  # fmt: skip
    return (folder / "server.key").read_text() + (folder / "server.pem").read_text()


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _openssl(folder: Path, *arguments: str) -> None:
    try:
        done = subprocess.run(  # noqa: S603 — no text of a user is an option
            ["openssl", *arguments],  # noqa: S607 — where it is differs
            cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
    except FileNotFoundError:
        raise BadInput("openssl is not installed, and makes the certificates of Kafka") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BadInput(f"openssl {arguments[0]}: {last}")
