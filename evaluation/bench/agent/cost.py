"""CPU share and memory of an agent: 8 rnics, 512 targets, 128 probes and 128 answers a second.

A real agent process with its default options, traceroutes included, publishes Arrow to a file. Its
peers are another process (``peer``). CPU time is the kernel's, of all threads of the agent
(``schedstat``). On loopback the sender pays for the way through both stacks: on a NIC, interrupts
pay a part of that.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec

from evaluation.bench.agent.peer import RNICS, peers_of
from evaluation.bench.method.figure import figure
from probers.ping_list.document import Endpoint, PingList, Target
from schemas import topics
from schemas.wire.batches import decode_all

_RATE: Final = 128  # probes a second, and answers
_FIRST_PORT, _PORTS = 61_100, 4
_GOAL_CORE, _GOAL_MB = 0.010, 35.0
_SETTLE_S: Final = 10  # the first records, their encoder and their columns


def document() -> PingList:
    """The ping list of the measured agent."""
    own = [Endpoint(ip=ip, real_ip=ip, layer="underlay", asw=f"asw-{ip}") for ip in RNICS]
    targets = [
        Target(
            src_ip=rnic.ip, ip=peer, real_ip=peer, node_sn=f"host-{peer}", layer="underlay",
            src_ports=[_FIRST_PORT + number % _PORTS], asw=rnic.asw,
        )
        for rail, rnic in enumerate(own)
        for number, peer in enumerate(peers_of(rail))
    ]  # fmt: skip
    interval_s = len(targets) / _RATE
    return PingList(node_sn="bench", interval_s=interval_s, endpoints=own, targets=targets)


def agent(seconds: int = 60) -> dict[str, Any]:
    """Measure for ``seconds`` (Linux); raises RuntimeError when the peers cannot be started."""
    with tempfile.TemporaryDirectory() as place:
        pings, key, out = (Path(place) / name for name in ("list.json", "key", "out"))
        pings.write_bytes(msgspec.json.encode(document()))
        key.touch(mode=0o600)  # the agent refuses a key that others can read
        key.write_text("0" * 32)
        peer = subprocess.Popen(  # noqa: S603  # our own module
            [sys.executable, "-m", "evaluation.bench.agent.peer", str(key), str(_RATE)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert peer.stdout is not None  # noqa: S101  # a pipe, as asked for
        if peer.stdout.readline() != "ready\n":
            raise RuntimeError("the peers do not run; does another measurement?")
        command = [sys.executable, "-m", "probers.agent.main", "--ping-list", str(pings),
                   "--publish", f"file:{out}", "--key-file", str(key),
                   "--node-sn", "bench"]  # fmt: skip
        running = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603  # our own
        try:
            time.sleep(_SETTLE_S)
            before_s, before, began_s = _cpu_s(running.pid), _size(out), time.monotonic()
            time.sleep(seconds)
            used_s, passed_s = _cpu_s(running.pid) - before_s, time.monotonic() - began_s
            written = out.read_bytes()
            status = Path(f"/proc/{running.pid}/status").read_text()
        finally:
            running.terminate()
            running.wait(10)
            probed = json.loads(peer.communicate("")[0])
    records = _records(written) - _records(written[:before])
    core = used_s / passed_s
    rss_mb = int(next(line.split()[1] for line in status.splitlines() if "VmHWM" in line)) / 1024
    per_s = {task: count / passed_s for task, count in records.items()}
    return {
        **figure(
            "{core:.2%} of a core at {probes:.0f} probes/s, {answers} answers/s ({answered:.1%} "
            "answered), {traceroutes:.0f} traceroutes/s",
            core=core,
            probes=per_s["UDP_PING"],
            answers=_RATE,
            answered=probed["answered"] / probed["sent"],
            traceroutes=per_s["TRACEROUTE"],
        ),
        "goal": f"<= {_GOAL_CORE:.1%}, <= {_GOAL_MB:.0f} MB",
        "missed": core > _GOAL_CORE or rss_mb > _GOAL_MB,
        "rss_mb": rss_mb,
    }


def _cpu_s(pid: int) -> float:
    """CPU time of all threads that run [s]."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _records(written: bytes) -> Counter[str]:
    """Answered probes and traces in the output of a ``file:`` publisher, by task."""
    payloads = [
        (base64.b64decode(line["payload"]), line["content-type"])
        for line in map(json.loads, written.splitlines())
        if line["topic"] == topics.PINGS.name
    ]
    batch = decode_all(payloads).batch
    answered = zip(
        batch.column("task_type").to_pylist(), batch.column("dial").to_pylist(), strict=True
    )
    return Counter(task for task, dial in answered if dial == "success")


if __name__ == "__main__":
    print(json.dumps(agent(int(sys.argv[1]) if sys.argv[1:] else 60)))
