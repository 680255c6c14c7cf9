"""An address is removed from the host while the agent probes from it, and added again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"),
        reason="needs root, iproute2 and util-linux",
    ),
]
SCRIPT = """
import json, subprocess
from time import monotonic
from probers.net.socket_pool import SocketPool
from probers.net.five_tuple import FiveTuple
from probers.process.loop import Loop
from probers.net.responder import Responder
from probers.probing.udp import UdpEngine
from probers.net.packet import Key

def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)

ip("link", "set", "lo", "up")
ip("address", "add", "192.0.2.7/32", "dev", "lo")
loop, key, bursts = Loop(), Key(b"a key of this test"), []
sockets = SocketPool(loop, key, Responder(key), 1000)
engine = UdpEngine(loop, sockets, bursts.append, timeout_s=20.0)
flow = FiveTuple(sockets.open(("192.0.2.7", 0)).address, sockets.open(("127.0.0.1", 0)).address)

def probe():
    known, until = len(bursts), monotonic() + 60
    engine.probe(flow)
    while len(bursts) == known and monotonic() < until:
        loop.call_at(0, loop.stop)
        loop.run()
    return bursts[-1].dial

seen = [probe()]
ip("address", "del", "192.0.2.7/32", "dev", "lo")
seen.append(probe())
ip("address", "add", "192.0.2.7/32", "dev", "lo")
seen.append(probe())
print(json.dumps([seen, sum(burst.lost for burst in bursts), sockets.counts, loop.errors]))
"""


def test_probes_from_an_address_that_vanished_are_unreachable_until_it_is_back() -> None:
    """An rnic without its address reaches nothing: that is a fault of the rnic, and named so."""
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", SCRIPT],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen, lost, counts, errors = json.loads(done.stdout)
    assert seen == ["success", "unreachable", "success"]
    assert lost == 1
    assert counts == {"send-ENETUNREACH": 1}
    assert errors == 0
