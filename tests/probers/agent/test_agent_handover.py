"""An agent is updated while others probe it: its successor takes over the open sockets."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from builders.agents.site import LISTEN_PORT, SECRET, Site, ended
from builders.agents.waiting import HANG_S, Condition, Until

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop
from streams.kafka.embedded_broker import EmbeddedBroker

EACH_NS = 2_000_000

pytestmark = pytest.mark.usefixtures("helper")


@contextmanager
def probing(site: Site) -> Iterator[list[Burst]]:
    """Another host that probes the agent's first address every 2 ms, from its first answer on: an
    agent that has started listens when it has applied its list."""
    bursts: list[Burst] = []

    def measured(burst: Burst) -> None:
        if bursts or burst.dial == "success":
            bursts.append(burst)

    loop, key = Loop(), Key(SECRET.encode())
    sockets = SocketPool(loop, key, Responder(key), max_rate=1e6)
    engine = UdpEngine(loop, sockets, measured, timeout_s=HANG_S)
    source = sockets.open((f"{site.network}.3", 0)).address
    flow = FiveTuple(source, (site.ips[0], LISTEN_PORT))
    loop.call_every(EACH_NS, lambda: engine.probe(flow))
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        yield bursts
    finally:
        loop.stop()
        thread.join()
        sockets.close_except(())
        loop.close()


def logged(process: subprocess.Popen[bytes], event: str) -> str:
    """The agent's log up to this event."""
    assert process.stderr is not None
    log = ""
    while f"event={event}" not in log:
        line = process.stderr.readline()
        assert line, f"the agent ended without {event}: {log}"
        log += line.decode()
    return log


def more_pings(site: Site, count: int) -> Condition:
    known = len(site.pings)
    return lambda: len(site.pings) > known + count


def start(site: Site, *more: str) -> subprocess.Popen[bytes]:
    return site.start("--handover", str(site.directory / "handover"), "--timeout", "60", *more)


@pytest.mark.parametrize("updates", [1, 3])
def test_no_probe_is_lost_or_refused_while_an_agent_is_updated(
    site: Site, eventually: Until, updates: int
) -> None:
    site.write_list([site.ips[1]], port=LISTEN_PORT)
    old = start(site, "--answer-rate", "10000")
    eventually(lambda: bool(site.pings))
    with probing(site) as bursts:
        for _ in range(updates):
            eventually(lambda: len(bursts) > 100)
            fresh = start(site, "--answer-rate", "10000")
            assert "event=handover-failed" not in logged(old, "handed-over")
            eventually(more_pings(site, 20))
            assert old.poll() is None, "a supervisor would start it again"
            code, errors = ended(old)
            assert code == 0, errors
            old = fresh
        known = len(bursts)
        eventually(lambda: len(bursts) > known + 100)
    assert {burst.dial for burst in bursts} == {"success"}
    assert {row["dial"] for row in site.pings} == {"success"}
    assert all(beat.alive for beat in site.beats), "no agent said farewell"
    code, errors = ended(old)
    assert code == 0, errors
    assert not (site.directory / "handover").exists()
    eventually(lambda: not site.beats[-1].alive)


def test_a_successor_that_dies_leaves_no_agent_that_seems_to_serve(
    site: Site, eventually: Until
) -> None:
    """Its supervisor starts one or the other again."""
    site.write_list([site.ips[1]], port=LISTEN_PORT)
    old = start(site)
    eventually(lambda: bool(site.pings))
    fresh = start(site, "--publish", "unix:/nowhere/relay.sock", "--connect-timeout", "0.1")
    _, errors = fresh.communicate(timeout=600)
    assert fresh.returncode == 3, errors
    _, errors = old.communicate(timeout=600)
    assert old.returncode == 70, errors
    assert b"the successor" in errors
    again = start(site)
    eventually(more_pings(site, 20))
    assert ended(again)[0] == 0


def test_a_first_agent_starts_without_a_predecessor(site: Site, eventually: Until) -> None:
    site.write_list([site.ips[1]], port=LISTEN_PORT)
    (site.directory / "handover").touch()
    refused = start(site)
    _, errors = refused.communicate(timeout=600)
    assert refused.returncode == 2
    assert b"handover" in errors
    (site.directory / "handover").unlink()
    first = start(site)
    eventually(lambda: bool(site.pings))
    first.kill()
    first.communicate(timeout=600)
    second = start(site)
    eventually(more_pings(site, 20))
    code, errors = ended(second)
    assert code == 0, errors


def test_the_spool_passes_to_the_successor(site: Site, eventually: Until) -> None:
    """Two agents cannot have one spool."""
    site.write_list([site.ips[1]], port=LISTEN_PORT)
    broker, spool = EmbeddedBroker(), site.directory / "spool"
    options = ("--publish", f"kafka:{broker.bootstrap}", "--spool", str(spool))
    old = start(site, *options)
    logged(old, "probing")  # its sockets are open
    with probing(site) as bursts:
        eventually(lambda: len(bursts) > 100)
        fresh = start(site, *options)
        logged(fresh, "started")
        known = len(bursts)
        eventually(lambda: len(bursts) > known + 100)
    assert {burst.dial for burst in bursts} == {"success"}
    for agent in (old, fresh):
        code, errors = ended(agent)
        assert code == 0, errors
