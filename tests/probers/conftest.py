"""Fixtures of the probers' tests: a key, a loop that runs until a condition holds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders.agents.site import Site
from builders.agents.waiting import HANG_S, Condition, Until, wait_until

from probers.net.packet import Key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.net.udp_socket import UdpSocket
from probers.process.loop import Loop
from probers.publishing.relay import Relay
from schemas.compiled import native


@pytest.fixture(scope="session", autouse=True)
def kernel_stamps() -> Iterator[None]:
    """The kernel stamps what arrives: it begins so some time after the first socket asks for it,
    late on a busy machine, and ends with the last one."""
    if sys.platform != "linux":
        yield
        return
    sock = UdpSocket("127.0.0.1")

    def stamped() -> bool:
        sock.send(b"", sock.address)
        received = sock.receive()
        return received is not None and received.kernel

    wait_until(stamped)
    yield
    sock.close()


@pytest.fixture
def key() -> Key:
    return Key(b"a key for the tests only")


@pytest.fixture(params=["native", "python"])
def helper(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Loops made from now on, also of other processes, serve their sockets by the compiled helper,
    or in Python."""
    if request.param == "python":
        monkeypatch.setenv(native.VARIABLE, "off")
    elif missing := native.why_not():
        pytest.skip(f"the compiled helper (scripts/native.sh): {missing}")
    return str(request.param)


@pytest.fixture
def loop(helper: str) -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def sockets(loop: Loop, key: Key) -> Iterator[SocketPool]:
    responder = Responder(key, rate=10_000, burst=10_000)
    made = SocketPool(loop, key, responder, max_rate=10_000)
    yield made
    made.close_except(())


@pytest.fixture
def run_until(loop: Loop) -> Until:
    """Serve the loop until a condition holds; fails after HANG_S."""

    def serve(holds: Condition) -> None:
        give_up_at = time.monotonic() + HANG_S
        done: list[bool] = []

        def look() -> None:
            if not done and (holds() or time.monotonic() > give_up_at):
                done.append(holds())
                loop.stop()

        loop.call_every(1_000_000, look)
        loop.run()
        assert done == [True], f"the condition did not hold within {HANG_S:g} s"

    return serve


@pytest.fixture
def eventually() -> Until:
    """Wait for something that another thread or process does."""

    return wait_until


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    with Relay(tmp_path / "relay.sock", made.sink):
        yield made
        made.close()
