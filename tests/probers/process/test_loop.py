"""The event loop: a failing callback costs its own turn; deadlines know whether the process ran."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from functools import partial

import pytest
from builders.agents.waiting import Until

from probers.process.loop import MAX_ERRORS, Deadlines, Loop, LoopError


def fail(what: str = "injected") -> None:
    raise RuntimeError(what)


@pytest.fixture
def errors() -> list[Exception]:
    return []


@pytest.fixture
def loop(errors: list[Exception], helper: str) -> Iterator[Loop]:
    made = Loop(errors.append)
    yield made
    made.close()


def test_a_callback_that_fails_costs_its_turn_only(
    loop: Loop, run_until: Until, errors: list[Exception]
) -> None:
    turns: list[int] = []

    def turn() -> None:
        turns.append(len(turns))
        if len(turns) % 2:
            fail()

    loop.call_every(1_000_000, turn)
    loop.post(fail)
    loop.call_at(0, fail)
    run_until(lambda: len(turns) >= 6)
    assert loop.errors == len(errors) >= 5


def test_a_deadline_whose_callback_fails_does_not_delay_the_others(
    loop: Loop, run_until: Until
) -> None:
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


def test_callbacks_that_fail_one_after_another_end_the_loop_with_the_reason(loop: Loop) -> None:
    def again() -> None:
        loop.call_at(0, again)
        fail("again and again")

    again_once = loop.call_at
    again_once(0, again)
    with pytest.raises(LoopError, match="again and again"):
        loop.run()
    assert loop.errors == MAX_ERRORS


def test_a_socket_whose_callback_fails_does_not_delay_the_others(
    loop: Loop, run_until: Until, errors: list[Exception]
) -> None:
    pairs = [socket.socketpair() for _ in range(3)]
    called: list[int] = []

    def ready(number: int) -> None:
        called.append(number)
        loop.remove_reader(pairs[number][0].fileno())
        if number == called[0]:  # all three are ready at once
            fail()

    for number, (ours, theirs) in enumerate(pairs):
        theirs.sendall(b"x")
        loop.add_reader(ours.fileno(), partial(ready, number))
    run_until(lambda: len(called) == 3)
    assert sorted(called) == [0, 1, 2]
    assert [str(error) for error in errors] == ["injected"]
    for pair in pairs:
        for end in pair:
            end.close()


def test_failures_while_reading_sockets_never_end_the_loop(loop: Loop, run_until: Until) -> None:
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


def test_a_deadline_knows_whether_the_process_ran(loop: Loop, run_until: Until) -> None:
    stalled: list[bool] = []
    waits = Deadlines(loop, 200_000_000, lambda _: stalled.append(waits.stalled))
    loop.call_at(0, lambda: waits.add(1, time.monotonic_ns()))
    run_until(lambda: len(stalled) == 1)
    loop.call_at(0, lambda: waits.add(2, time.monotonic_ns()))
    loop.call_at(1, lambda: time.sleep(1.0))
    run_until(lambda: len(stalled) == 2)
    assert stalled[1], "a second of which the process slept"
