"""The command, and an agent asked for RDMA, with and without a device."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import pytest
from builders.agents.rdma_cable import Pair

from probers.net.packet import KEY_VARIABLE, Key
from probers.rdma import ping
from probers.rdma.devices import Gid, RdmaError
from probers.rdma.packet import (
    QpAddress,
)
from probers.rdma.port import HOP_LIMIT, Arrived, Port, Sent
from probers.rdma.verbs import VerbsPort


@pytest.fixture
def pair(key: Key) -> Pair:
    return Pair(key, key)


@pytest.fixture
def no_pyverbs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyverbs", None)
    monkeypatch.setenv(KEY_VARIABLE, "a key for the tests only")


@pytest.mark.usefixtures("no_pyverbs")
def test_without_pyverbs_there_is_one_line_that_says_what_to_install(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ping.main(["ping", "--device", "rxe0", "10.0.0.2/17"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "RDMA_PING needs pyverbs" in line
    assert "apt install python3-pyverbs" in line


class PyverbsError(Exception):
    """pyverbs' own error."""


class Named(NamedTuple):
    name: bytes


def install_pyverbs(
    monkeypatch: pytest.MonkeyPatch, devices: Sequence[str], complaint: str | None = None
) -> None:
    """A pyverbs that lists these devices, or cannot list any."""

    def get_device_list() -> list[Named]:
        if complaint:
            raise PyverbsError(complaint)
        return [Named(name.encode()) for name in devices]

    for part in ("device", "pyverbs_error", "enums", "addr", "wr"):
        module = ModuleType(f"pyverbs.{part}")
        monkeypatch.setitem(sys.modules, f"pyverbs.{part}", module)
        vars(module).update(get_device_list=get_device_list, PyverbsError=PyverbsError)
    monkeypatch.setenv(KEY_VARIABLE, "a key for the tests only")


@pytest.mark.parametrize("complaint", [None, "Failed to get devices list"])
def test_without_a_device_there_is_one_line_that_says_so(
    complaint: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_pyverbs(monkeypatch, [], complaint)
    assert ping.main(["respond", "--device", "rxe0"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "needs an RDMA device and this machine has none" in line
    assert "probe with UDP_PING" in line


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ping", "--device", "rxe0", "10.0.0.2"], "has no queue pair number"),
        (["ping", "--device", "rxe0", "--count", "0", "10.0.0.2/17"], "not between 1 and"),
        (["respond"], "--device"),
        (["respond", "--device", "rxe0", "--gid", "eth0"], "give a GID's entry or its address"),
    ],
)
def test_invalid_usage_of_the_command_is_reported(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        ping.main(arguments)
    assert caught.value.code == 2
    assert complaint in capsys.readouterr().err


def test_the_command_requires_a_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert ping.main(["respond", "--device", "rxe0"]) == 2
    assert f"variable {KEY_VARIABLE}" in capsys.readouterr().err


def test_the_command_prints_one_json_line_per_target_with_loss_and_round_trips(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The device is the cable, whose other end replies whenever it is polled."""
    calls: list[str] = []

    class Device:
        addresses = pair.near.addresses

        def prepare(
            self, own: int, to: QpAddress, dscp: int = 0, hop_limit: int = HOP_LIMIT
        ) -> None:
            calls.append("prepare")

        def send(
            self, own: int, to: QpAddress, payload: bytes, dscp: int = 0, hop_limit: int = HOP_LIMIT
        ) -> int:
            calls.append("send")
            return pair.near.send(own, to, payload)

        def poll(self) -> Sent | Arrived | None:
            pair.responder.poll()
            return pair.near.poll()

        def fileno(self) -> int:
            return -1

        def rearm(self) -> None:
            """``poll`` may be called at any time."""

        def close(self) -> None:
            calls.append("close")

    def open_port(device: str, queue_pairs: int, *, gid: Gid | None, ipv6: bool | None) -> Device:
        assert (device, queue_pairs, gid, ipv6) == ("rxe0", 2, None, False)
        return Device()

    monkeypatch.setenv(KEY_VARIABLE, "a key for the tests only")
    clock, target = pair.near.clock, str(pair.target)
    arguments = ["ping", "--device", "rxe0", "--count", "3", "--interval", "0.001", target, target]
    assert ping.main(arguments, open_port=open_port, now=clock.mono, wall=clock.wall) == 0
    assert calls[:2] == ["prepare"] * 2, "both targets before the first probe"
    assert calls[-1] == "close"
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["src"] == "10.0.0.1/17"
    assert second["src"] == "10.0.0.1/18"
    assert first["dst"] == second["dst"] == target
    assert (first["sent"], first["lost"], first["whole"]) == (3, 0, 3)
    assert 100 <= first["rtt_us"]["min"] <= first["rtt_us"]["median"] <= first["rtt_us"]["max"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["respond"], (None, None)),
        (["respond", "--gid", "3"], (Gid("rxe0", 1, 3), None)),
        (["ping", "fd00::2/17"], (None, True)),
        (["ping", "--gid", "0", "fe80::2/17"], (Gid("rxe0", 1, 0), True)),
    ],
)
def test_the_own_gid_is_the_one_that_is_named_or_of_the_targets_version(
    arguments: list[str], wanted: tuple[Gid | None, bool | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Gid | None, bool | None]] = []

    def open_port(device: str, queue_pairs: int, *, gid: Gid | None, ipv6: bool | None) -> Port:
        asked.append((gid, ipv6))
        raise RdmaError("of this test")

    monkeypatch.setenv(KEY_VARIABLE, "a key for the tests only")
    command, *rest = arguments
    assert ping.main([command, "--device", "rxe0", *rest], open_port=open_port) == 3
    assert asked == [wanted]


def test_targets_of_both_ip_versions_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a key for the tests only")
    assert ping.main(["ping", "--device", "rxe0", "10.0.0.2/17", "fd00::2/17"]) == 2
    assert "targets are of both IP versions" in capsys.readouterr().err


def test_a_device_that_does_not_exist_is_reported_with_those_that_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_pyverbs(monkeypatch, ["rxe0", "rxe1"])
    with pytest.raises(RdmaError, match="no RDMA device 'rxe9'; there is rxe0, rxe1"):
        VerbsPort("rxe9")


def test_the_commands_former_name_works_with_one_deprecation_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "probers.rdma_ping", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "respond" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.endswith("is deprecated: use python -m probers.rdma.ping")
