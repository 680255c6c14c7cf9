"""`skeletonhunter-agent probe --engine rdma`: over simulated rnics, to an agent in another loop."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders.agents.rdma_hosts import LISTEN_PORT, Fabric, RdmaHost, RnicPort, addresses

from probers.net import packet
from probers.net.packet import Key
from probers.probe import main
from probers.process.loop import Loop
from probers.rdma.packet import ROCE_PORT
from probers.rdma.scheduled.rnic import RdmaOptions

SECRET = b"a key for the tests only"


class Peer:
    """An agent in a thread of its own, and the fabric between it and the command."""

    def __init__(self, directory: Path) -> None:
        self.fabric, self._loop = Fabric(), Loop()
        self.own, ip = addresses()
        self.host = RdmaHost(self._loop, Key(SECRET), self.fabric, ip)
        self.key_file = directory / "key"
        self.key_file.touch(mode=0o600)
        self.key_file.write_bytes(SECRET)
        self._thread = threading.Thread(target=self._loop.run)

    def start(self) -> None:
        self.host.probe()
        self._thread.start()

    def stop(self) -> None:
        self._loop.stop()
        self._thread.join()
        self.host.end()
        self._loop.close()

    def probe(self, *arguments: str) -> int:
        """Run the command."""
        to = f"{self.host.ip}:{LISTEN_PORT}"
        common = ["--engine", "rdma", "--to", to, "--from", self.own, "--key-file",
                  str(self.key_file), "--count", "3", "--interval", "0.05"]  # fmt: skip
        return main.run([*common, *arguments], open_port=self._open)

    def _open(self, ip: str, options: RdmaOptions) -> RnicPort:
        return RnicPort(self.fabric, ip, options.queue_pairs)


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
    made = Peer(tmp_path)
    yield made
    made.stop()
    for number, handler in before:
        signal.signal(number, handler)


def test_an_agent_is_probed_over_rdma(peer: Peer, capsys: pytest.CaptureFixture[str]) -> None:
    peer.start()
    assert peer.probe() == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{peer.host.ip}:{LISTEN_PORT}  sent 3, lost 0 (0.0 %); P50 ")


def test_records_have_the_five_tuple_of_the_queue_pair(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.start()
    assert peer.probe("--format", "json") == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["task_type"] for each in records] == ["RDMA_PING"] * 3
    assert {each["dst_port"] for each in records} == {ROCE_PORT}
    assert all(49152 <= each["src_port"] <= 65535 for each in records)


def test_lost_probes_end_with_1(peer: Peer, capsys: pytest.CaptureFixture[str]) -> None:
    peer.fabric.loses.add(packet.PROBE)
    peer.start()
    assert peer.probe("--timeout", "0.2") == main.LOST
    assert "sent 3, lost 3 (100.0 %)" in capsys.readouterr().out


def test_an_agent_without_a_device_is_named(peer: Peer, capsys: pytest.CaptureFixture[str]) -> None:
    peer.host.lacks = "no device"
    peer.start()
    assert peer.probe("--count", "1") == main.LOST
    assert "its agent has no RDMA device" in capsys.readouterr().err


def test_a_host_without_a_device_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_bytes(SECRET)
    own, peer = addresses()
    code = main.main(
        ["--engine", "rdma", "--to", f"{peer}:1", "--from", own, "--key-file", str(key)]
    )
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "RDMA" in line
