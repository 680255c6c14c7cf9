"""A heartbeat that comes again, however late, says nothing new about its host."""

from __future__ import annotations

from localizer.detectors.silence import KEPT_BEATS, HostMemory


def beat(memory: HostMemory, time_s: float, *, alive: bool = True, name: str = "h1") -> None:
    memory.beat(name, time_s, alive=alive, steal=0.0, delay_us=0.0)


def silent(memory: HostMemory, second: int, name: str = "h1") -> bool:
    return bool(memory.state(second).silent[memory.code(name)])


def test_an_old_heartbeat_does_not_bring_back_a_host_that_said_goodbye() -> None:
    memory = HostMemory()
    for second in range(100, 110):
        beat(memory, second)
    beat(memory, 110.0, alive=False)
    assert silent(memory, 110)
    beat(memory, 105.0)
    assert silent(memory, 110)
    beat(memory, 111.0)
    assert not silent(memory, 111), "it really came back"


def test_an_old_goodbye_does_not_end_a_host_that_lives_again() -> None:
    memory = HostMemory()
    beat(memory, 100.0, alive=False)
    for second in range(105, 110):
        beat(memory, second)
    beat(memory, 100.0, alive=False)
    assert not silent(memory, 110)


def test_one_heartbeat_many_times_hides_no_pause_between_others() -> None:
    memory = HostMemory()
    for second in (100, 101, 102, 110):  # silent from 103 to 109
        beat(memory, second)
    for _ in range(2 * KEPT_BEATS):
        beat(memory, 110.0)
    assert silent(memory, 108)


def test_old_heartbeats_do_not_make_a_dead_host_alive() -> None:
    memory = HostMemory()
    for second in range(100, 110):
        beat(memory, second)
    beat(memory, 120.0, name="h2")
    for second in range(100, 110):
        beat(memory, second)
    assert silent(memory, 120)
    assert not silent(memory, 120, "h2")
