"""A pod's sidecar and the host's agent, both of one user without any capability (k8s/)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
USER = 65532
#: Give up all rights, as a container runtime does before it starts a program, which makes the
#: process readable for its user again.
DROP = f"""
import ctypes, os, socket, sys
os.setgroups([]); os.setresgid({USER}, {USER}, {USER}); os.setresuid({USER}, {USER}, {USER})
assert "CapEff:\\t0000000000000000" in open("/proc/self/status").read()
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
"""
HOST = f"""
import json
from pathlib import Path
from probers.containers.peers import peer_of
from probers.publishing.relay.unix_server import listen
{DROP}
server = listen(Path(sys.argv[1]), 0o660)
server.setblocking(True)
print("listening", flush=True)
connection, _ = server.accept()
found = peer_of(connection)
print(json.dumps([found.uid, sorted(found.namespace().addresses)]), flush=True)
"""
SIDECAR = f"""
{DROP}
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1] + "/containers.sock")
try:
    open(sys.argv[1] + "/other.sock", "w")
except OSError as why:
    print(why.strerror, flush=True)
sys.stdin.read()
"""
#: A network, mounts and processes of its own; the host's folder read-only.
CONTAINER = """
ip addr add 172.16.9.9/32 dev lo
mount --bind "$1" "$2"
mount -o remount,ro,bind "$2"
exec "$3" -c "$4" "$2"
"""


@pytest.mark.netns
def test_a_sidecar_of_the_hosts_user_is_known_without_any_capability() -> None:
    """Behind a read-only mount, in namespaces of its own for network, mounts and processes."""
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("needs root and unshare (apt install util-linux)")
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # unlike pytest's folders: the user has to reach it
        sockets, mounted = folder / "sockets", folder / "mounted"
        sockets.mkdir(mode=0o755)
        mounted.mkdir(mode=0o755)
        os.chown(sockets, USER, USER)

        def start(*command: str | Path) -> subprocess.Popen[str]:
            process = ends.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT
                )
            )
            ends.callback(process.kill)
            return process

        host = start(sys.executable, "-c", HOST, sockets / "containers.sock")
        assert line_of(host) == "listening"
        sidecar = start(
            "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
            CONTAINER, "sh", sockets, mounted, sys.executable, SIDECAR,
        )  # fmt: skip
        assert line_of(sidecar) == "Read-only file system"
        user, addresses = json.loads(line_of(host))
    assert user == USER
    assert "172.16.9.9" in addresses


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip()
