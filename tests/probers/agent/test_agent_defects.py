"""A defect of the agent is counted and logged; the agent goes on where it can, else it ends."""

from __future__ import annotations

import sys

import pytest
from builders.agents.site import LISTEN_PORT, Site, ended
from builders.agents.waiting import Until

INJECTED = """
import socket, sys
from probers.agent import main, probe_plan
from probers.net import responder, socket_pool
from probers.ping_list import poller
def broken(*_):
    raise RuntimeError("injected")
{patch} = broken
raise SystemExit(main.main())
"""
PASSING = """
from probers.agent import main, probe_plan
plan, calls = probe_plan.five_tuples, []
def broken_at_first(*arguments):
    calls.append(1)
    if len(calls) < 4:
        raise MemoryError("injected")
    return plan(*arguments)
probe_plan.five_tuples = broken_at_first
raise SystemExit(main.main())
"""


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("socket.socket.sendall", "thread publish"),
        ("poller.PingListPoller.poll", "thread ping-list"),
        ("socket_pool.SocketPool.next_sequence", "callbacks failed within"),
    ],
)
def test_an_agent_without_a_vital_part_ends_with_70_and_the_reason(
    site: Site, function: str, name: str
) -> None:
    site.write_list([site.ips[1]], interval_s=0.01)
    site.command = [sys.executable, "-c", INJECTED.format(patch=function)]
    process = site.start()
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 70, errors
    lines = errors.decode().splitlines()
    assert name in lines[-1]
    assert "injected" in lines[-1]


@pytest.mark.parametrize("function", ["probe_plan.five_tuples", "responder.Responder.reply"])
def test_an_agent_with_a_defect_in_a_minor_part_goes_on_sending_heartbeats(
    site: Site, eventually: Until, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKH_NATIVE", "off")  # the compiled helper has a responder of its own
    site.write_list([site.ips[1]], port=LISTEN_PORT, interval_s=0.02)
    site.command = [sys.executable, "-c", INJECTED.format(patch=function)]
    process = site.start()
    eventually(lambda: len(site.beats) >= 8)
    assert process.poll() is None
    process.terminate()
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert b"injected" in errors


def test_a_list_that_could_not_be_applied_is_tried_again_though_it_has_not_changed(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]])
    site.command = [sys.executable, "-c", PASSING]
    process = site.start()
    eventually(lambda: bool(site.pings))
    code, errors = ended(process)
    assert code == 0, errors
    assert errors.count("event=list-refused") == 3
