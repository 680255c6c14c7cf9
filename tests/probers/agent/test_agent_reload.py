"""SIGHUP: keys, token and list are read again, without a gap in probing or answering."""

from __future__ import annotations

import json
import signal

import pytest
from builders.agents.site import LISTEN_PORT, SECRET, Site, ended
from builders.agents.waiting import Until

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop

NEXT = "the key of the next quarter"

pytestmark = pytest.mark.usefixtures("helper")


def answer(site: Site, secret: str) -> str:
    """How one probe of the agent, with this key, ends."""
    bursts: list[Burst] = []
    loop, key = Loop(), Key(secret.encode())
    sockets = SocketPool(loop, key, Responder(key), max_rate=1000)

    def done(burst: Burst) -> None:
        bursts.append(burst)
        loop.stop()

    engine = UdpEngine(loop, sockets, done, timeout_s=1.0)
    source = sockets.open((f"{site.network}.3", 0)).address
    engine.probe(FiveTuple(source, (site.ips[0], LISTEN_PORT)))
    loop.run()
    sockets.close_except(())
    loop.close()
    return bursts[0].dial


def change_key(site: Site, *secrets: str) -> None:
    (site.directory / "key").write_text("".join(f"{each}\n" for each in secrets))
    site.processes[-1].send_signal(signal.SIGHUP)


def test_a_key_is_changed_in_three_steps_without_a_lost_probe(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]], port=LISTEN_PORT)
    process = site.start("--timeout", "60")
    eventually(lambda: bool(site.pings))
    assert (answer(site, SECRET), answer(site, NEXT)) == ("success", "timeout")
    change_key(site, SECRET, NEXT)
    eventually(lambda: answer(site, NEXT) == "success")
    assert answer(site, SECRET) == "success", "agents that do not know the next key go on"
    change_key(site, NEXT, SECRET)
    eventually(lambda: answer(site, SECRET) == "success")
    change_key(site, NEXT)
    eventually(lambda: answer(site, SECRET) == "timeout")
    assert answer(site, NEXT) == "success"
    known = len(site.pings)
    eventually(lambda: len(site.pings) > known + 20)
    code, errors = ended(process)
    assert code == 0, errors
    assert errors.count("event=reloaded") in (2, 3), "two signals at the same time are one"
    assert {row["dial"] for row in site.pings} == {"success"}
    assert SECRET not in errors
    assert NEXT not in errors


def test_a_file_that_cannot_be_used_changes_nothing(site: Site, eventually: Until) -> None:
    site.write_list([site.ips[1]], port=LISTEN_PORT)
    process = site.start("--timeout", "60")
    eventually(lambda: bool(site.pings))
    change_key(site, "short")
    change_key(site, NEXT, SECRET, "a third key is one too many")
    (site.directory / "key").chmod(0o644)
    change_key(site, NEXT)
    known = len(site.pings)
    eventually(lambda: len(site.pings) > known + 20)
    assert answer(site, SECRET) == "success"
    assert answer(site, NEXT) == "timeout"
    code, errors = ended(process)
    assert code == 0, errors
    assert errors.count("event=reload-refused") >= 1
    assert "event=reloaded" not in errors
    assert NEXT not in errors


def test_the_list_is_read_at_once(site: Site, eventually: Until) -> None:
    site.write_list([], port=LISTEN_PORT)
    process = site.start("--list-interval", "3600")
    eventually(lambda: bool(site.beats))
    site.write_list([site.ips[1]], port=LISTEN_PORT)
    process.send_signal(signal.SIGHUP)
    eventually(lambda: bool(site.pings))
    (site.directory / "list.json").write_text(json.dumps({"version": 99}))
    process.send_signal(signal.SIGHUP)
    known = len(site.pings)
    eventually(lambda: len(site.pings) > known + 20)
    code, errors = ended(process)
    assert code == 0, errors
    assert "event=ping-list-unreadable" in errors
