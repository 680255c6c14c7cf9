"""Starts the relay of a fabric that stays up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from testbed.netns import machine
from testbed.netns.fabric import Fabric
from testbed.netns.machine import FabricError, Process

_LONGEST_SOCKET: Final = 100
_READY_S: Final = 15.0


def start_collector(fabric: Fabric, out: Path, kafka: str | None) -> tuple[Process, Path]:
    """Start a process that receives agents' messages on a unix socket and writes them to files in
    ``out``, or forwards them to Kafka. Returns it and the socket; raises FabricError."""
    socket = out / "relay.sock"
    if len(str(socket)) > _LONGEST_SOCKET:
        socket = Path(f"/run/skh-{fabric.name}.sock")
    log = out / "relay.log"
    command = [sys.executable, "-m", "testbed.netns.probes.collect", "--socket", str(socket),
               "--out", str(out),
               "--while-there", str(machine.NAMESPACES / fabric.namespace("host-0"))]  # fmt: skip
    with log.open("wb") as errors:
        child = subprocess.Popen(  # noqa: S603  # fixed list
            [*command, *(["--kafka", kafka] if kafka else [])],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
        )  # fmt: skip
    assert child.stdout is not None  # noqa: S101  # it is a pipe
    with child.stdout as first:
        ready = first.readline().strip() == b"ready"
    known = machine.process(child.pid)
    if not ready or known is None:
        child.wait(_READY_S)
        last_lines = log.read_text().strip().splitlines()
        raise FabricError(last_lines[-1] if last_lines else f"the relay did not start; see {log}")
    return known, socket
