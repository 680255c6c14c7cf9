"""Last heartbeats of hosts: one that comes again, however late, changes nothing."""

from __future__ import annotations

import numpy as np

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


def test_without_heartbeats_a_host_is_silent_after_three_of_its_own_pauses() -> None:
    hosts = HostActivity()
    often, seldom = hosts.code("often"), hosts.code("seldom")
    for second in range(100, 141):
        hosts.probed(second, np.array([often] if second % 10 else [often, seldom], np.int32))
    assert hosts.pace_s.tolist() == [1.0, 10.0]
    found = {
        name: next(second for second in range(141, 180) if silent(hosts, second, name))
        for name in hosts.names
    }
    assert found == {"often": 144, "seldom": 173}


def test_without_heartbeats_a_host_that_has_probed_once_or_never_is_not_called_silent() -> None:
    hosts = HostActivity()
    hosts.probed(100, np.array([hosts.code("once"), hosts.code("once")], np.int32))
    hosts.code("never")
    assert not any(silent(hosts, second, name) for second in (101, 200) for name in hosts.names)


def test_an_outage_is_no_cadence_but_another_cadence_is_learnt_in_a_few_rounds() -> None:
    hosts = HostActivity()
    host = np.array([hosts.code("h1")], np.int32)
    for second in [*range(100, 160), *range(220, 230)]:
        hosts.probed(second, host)
    assert hosts.pace_s[0] < 3.0, "60 s away count as three"
    for second in range(250, 370, 20):
        hosts.probed(second, host)
    assert hosts.pace_s[0] == 20.0


def test_with_heartbeats_own_probes_say_nothing_of_the_pace() -> None:
    hosts = HostActivity()
    for second in (100, 130, 160):
        hosts.probed(second, np.array([hosts.code("h1")], np.int32))
    beat(hosts, 160.0)
    assert hosts.pace_s.tolist() == [1.0]
