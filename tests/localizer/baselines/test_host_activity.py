"""Last heartbeats of hosts: one that comes again, however late, changes nothing."""

from __future__ import annotations

from localizer.baselines.hosts import DEFAULT, HostActivity
from localizer.detectors.silence import host_states


def beat(hosts: HostActivity, time_s: float, *, alive: bool = True, name: str = "h1") -> None:
    hosts.beat(name, time_s, alive=alive, steal=0.0, delay_us=0.0)


def silent(hosts: HostActivity, second: int, name: str = "h1") -> bool:
    return bool(host_states(hosts, second).silent[hosts.code(name)])


def test_an_old_heartbeat_does_not_bring_back_a_host_that_said_goodbye() -> None:
    hosts = HostActivity()
    for second in range(100, 110):
        beat(hosts, second)
    beat(hosts, 110.0, alive=False)
    assert silent(hosts, 110)
    beat(hosts, 105.0)
    assert silent(hosts, 110)
    beat(hosts, 111.0)
    assert not silent(hosts, 111), "a new heartbeat brings it back"


def test_an_old_goodbye_does_not_end_a_host_that_lives_again() -> None:
    hosts = HostActivity()
    beat(hosts, 100.0, alive=False)
    for second in range(105, 110):
        beat(hosts, second)
    beat(hosts, 100.0, alive=False)
    assert not silent(hosts, 110)


def test_one_heartbeat_many_times_hides_no_pause_between_others() -> None:
    hosts = HostActivity()
    for second in (100, 101, 102, 110):  # silent from 103 to 109
        beat(hosts, second)
    for _ in range(2 * DEFAULT.heartbeats):
        beat(hosts, 110.0)
    assert silent(hosts, 108)


def test_old_heartbeats_do_not_make_a_dead_host_alive() -> None:
    hosts = HostActivity()
    for second in range(100, 110):
        beat(hosts, second)
    beat(hosts, 120.0, name="h2")
    for second in range(100, 110):
        beat(hosts, second)
    assert silent(hosts, 120)
    assert not silent(hosts, 120, "h2")
