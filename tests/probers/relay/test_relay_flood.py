"""512 malicious clients take bounded memory, and an honest one is served."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

from builders.agents.relay_messages import frame, try_send

MIB = 1024 * 1024
HALF = frame(b"x" * (8 * MIB - 100))[: 8 * MIB - 4096]


RELAY = """
import sys, threading
from probers.publishing.relay import Relay
with Relay(sys.argv[1], lambda *message: print(len(message[3]), flush=True)) as relay:
    print("ready", flush=True)
    sys.stdin.readline()
    print(dict(relay.counts), relay.connections, flush=True)
"""


def test_512_malicious_clients_take_bounded_memory_and_an_honest_one_is_served(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "relay.sock")
    process = subprocess.Popen(
        [sys.executable, "-c", RELAY, path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    try:
        assert process.stdout.readline() == "ready\n"
        before = _rss_mb(process.pid)
        with ExitStack() as stack:
            honest = stack.enter_context(socket.socket(socket.AF_UNIX))
            honest.connect(path)
            bad = []
            for _ in range(511):
                one = stack.enter_context(socket.socket(socket.AF_UNIX))
                one.connect(path)
                bad.append(one)
            senders = [threading.Thread(target=try_send, args=(one, HALF)) for one in bad[:60]]
            senders += [threading.Thread(target=try_send, args=(one, b"\0")) for one in bad[60:]]
            for sender in senders:
                sender.start()
            for _ in range(20):  # meanwhile
                honest.sendall(frame(b"h" * 100_000))
                assert process.stdout.readline() == "100000\n"
            for sender in senders:
                sender.join()
            honest.sendall(frame(b"h" * 100_000))
            assert process.stdout.readline() == "100000\n"
            grown = _rss_mb(process.pid) - before
        process.stdin.write("\n")
        process.stdin.flush()
        counts = process.stdout.readline()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        process.terminate()
        process.communicate(timeout=600)
    print(f"relay grew by {grown:.0f} MB, {counts}")
    assert grown < 100, "64 MiB of frames, and what the allocator keeps"
    assert "over-memory" in counts


def _rss_mb(pid: int) -> float:
    """The most that the process ever had [MB]."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
