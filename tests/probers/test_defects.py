"""A defect of the agent's own is counted and said; what can go on goes on, the rest ends aloud."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from agent_site import Site, ended

from probers.net.five_tuple import FiveTuple
from probers.probing.schedule import Schedule
from probers.process.log import lines_lost, log_event
from probers.process.loop import MAX_ERRORS, Deadlines, Loop, LoopError
from probers.process.thread_failures import ThreadFailures

Until = Callable[[Callable[[], bool]], None]
FLOWS = [FiveTuple(("10.0.0.1", 61100 + n), ("10.0.0.2", 65300)) for n in range(5)]


def fail(what: str = "injected") -> None:
    raise RuntimeError(what)


@pytest.fixture
def said() -> list[Exception]:
    return []


@pytest.fixture
def loop(said: list[Exception]) -> Iterator[Loop]:
    made = Loop(said.append)
    yield made
    made.close()


def test_a_callback_that_fails_costs_its_turn_only(
    loop: Loop, run_until: Until, said: list[Exception]
) -> None:
    turns: list[int] = []

    def turn() -> None:
        turns.append(len(turns))
        if len(turns) % 2:
            fail()

    loop.call_every(1_000_000, turn)
    loop.post(fail)
    loop.call_at(0, fail)
    run_until(lambda: len(turns) == 6)
    assert loop.errors == len(said) >= 5


def test_a_wait_whose_end_fails_does_not_hold_up_the_others(loop: Loop, run_until: Until) -> None:
    ended: list[int] = []

    def expired(number: int) -> None:
        ended.append(number)
        if number == 1:
            fail()

    waits = Deadlines(loop, 1_000_000, expired)
    for number in range(4):
        waits.add(number, 0)
    run_until(lambda: len(ended) == 4)
    waits.add(4, 0)
    run_until(lambda: len(ended) == 5)
    assert loop.errors == 1


def test_a_flow_whose_probe_fails_has_its_next_turn_and_so_do_the_others(
    loop: Loop, run_until: Until
) -> None:
    fired: list[FiveTuple] = []

    def fire(flow: FiveTuple) -> None:
        fired.append(flow)
        if flow == FLOWS[2] and loop.errors < 3:
            fail()

    Schedule(loop, fire, Random(1)).replace(FLOWS, 0.05)
    run_until(lambda: all(fired.count(flow) >= 5 for flow in FLOWS))
    assert loop.errors == 3


def test_callbacks_that_fail_one_after_another_end_the_loop_with_the_reason(loop: Loop) -> None:
    def again() -> None:
        loop.call_at(0, again)
        fail("again and again")

    again_once = loop.call_at
    again_once(0, again)
    with pytest.raises(LoopError, match="again and again"):
        loop.run()
    assert loop.errors == MAX_ERRORS


def test_datagrams_that_a_defect_of_ours_meets_never_end_the_loop(
    loop: Loop, run_until: Until
) -> None:
    """Others decide how many of them come."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"x" * 3 * MAX_ERRORS)

        def ready() -> None:
            ours.recv(1)
            fail()

        loop.add_reader(ours.fileno(), ready)
        run_until(lambda: loop.errors == 3 * MAX_ERRORS)
        loop.remove_reader(ours.fileno())


def test_a_thread_that_dies_ends_the_agent_and_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    stopped = threading.Event()
    failures = ThreadFailures(stopped.set).install()
    thread = threading.Thread(target=fail, name="publish")
    thread.start()
    thread.join()
    assert stopped.is_set()
    assert failures.first is not None
    assert failures.first.startswith("thread publish: RuntimeError: injected at test_defects.py:")
    assert "event=thread-died" in capfd.readouterr().err


INJECTED = """
import socket, sys
from probers.agent import main, probe_plan
from probers.net import responder
from probers.ping_list import poller
from probers.process import loop
def broken(*_):
    raise RuntimeError("injected")
{patch} = broken
raise SystemExit(main.main())
"""


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("socket.socket.sendall", "thread publish"),
        ("poller.PingListPoller.poll", "thread ping-list"),
        ("loop.Deadlines.add", "callbacks failed within"),
    ],
)
def test_an_agent_that_cannot_go_on_ends_with_70_and_the_reason(
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
def test_a_defect_in_a_part_that_is_not_vital_leaves_the_agent_beating(
    site: Site, eventually: Until, function: str
) -> None:
    site.write_list([site.ips[1]], interval_s=0.02)
    path = site.directory / "list.json"
    path.write_text(path.read_text().replace('"src_ports"', '"port": 65311, "src_ports"'))
    site.command = [sys.executable, "-c", INJECTED.format(patch=function)]
    process = site.start()
    eventually(lambda: len(site.beats) >= 8)
    assert process.poll() is None
    process.terminate()
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert b"injected" in errors


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


def test_a_log_that_is_not_read_any_more_stops_nothing(tmp_path: Path) -> None:
    """A supervisor that hangs leaves a full pipe; one that died leaves a broken one."""
    code = (
        "import sys\n"
        "from probers.process import log\n"
        "for number in range(5000):\n"
        "    log.log_event('info', f'event-{number}', text='x' * 200)\n"
        "print(log.lines_lost())\n"
    )
    for broken in (False, True):
        reading, writing = os.pipe()
        if broken:
            os.close(reading)
        done = subprocess.run(
            [sys.executable, "-c", code], stderr=writing, stdout=subprocess.PIPE,
            text=True, timeout=600, check=True,
        )  # fmt: skip
        os.close(writing)
        if not broken:
            os.close(reading)
        assert int(done.stdout) > 4000


def test_a_line_that_repeats_is_said_30_times_a_minute(capfd: pytest.CaptureFixture[str]) -> None:
    before = lines_lost()
    for number in range(100):
        log_event("warning", "test-of-repetition", number=number)
    log_event("warning", "test-of-another-event")
    lines = capfd.readouterr().err.splitlines()
    assert len([line for line in lines if "test-of-repetition" in line]) == 30
    assert "test-of-another-event" in lines[-1]
    assert lines_lost() == before


def test_what_others_wrote_does_not_steer_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    log_event("error", "test-of-controls", why="\x1b[2Jgone\x07")
    assert capfd.readouterr().err.rstrip("\n").isprintable()
