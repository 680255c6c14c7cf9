"""Hosts that fell silent, and how many others see it. The decision table of silence:

heartbeat + timeouts                                    -> network or rnic: not decided here
no heartbeat + refused                                  -> agent_down
no heartbeat, no probe + kernel answers TCP or ICMP     -> agent_down, unless it answers others
no heartbeat + timeouts on all rnics, both layers       -> host_down
heartbeat that shows starvation + timeouts              -> agent_starved
heartbeats that show late timers for ten seconds        -> agent_starved, without any timeout
While a heartbeat is late but not yet missing, the host's timeouts are attributed to no component;
where a kernel answers TCP or ICMP, nor in a second without any life of the host's agent.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.baselines.hosts import HostActivity
from schemas.parameters.parameter import parameter
from schemas.parameters.window_timing import DEFAULT_TIMING

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SilenceParameters:
    """How long without a heartbeat means what.

    Where no host of a fabric sends heartbeats, a host's own probes stand for them, and these times
    are multiples of the pause that it usually makes (``HostActivity.pace_s``).

    doubtful_s        after so long a host's timeouts wait,
    silent_s          and after so long its agent is taken to be gone
    starved_before_s  a report of starvation covers the seconds up to so long after it,
    starved_after_s   and so long before it
    late_of           newest heartbeats of a host that are looked at for late timers,
    late_begins       so many of them with late timers: its agent is starved, whatever it measures
    late_ends         until only so many of them are
    back_s            for so long after its return a host's measurements are ignored
    """

    doubtful_s: float = parameter(
        1.6, unit="s", source="chosen: a heartbeat a second, the next one late by 0.6 s"
    )
    silent_s: float = parameter(
        3.2, unit="s", source="chosen: three heartbeats missing, the clocks 0.2 s apart"
    )
    starved_before_s: float = parameter(
        2.5, unit="s", source="chosen: make fabric-test (a starved agent)"
    )
    starved_after_s: float = parameter(
        2.0, unit="s", source="chosen: make fabric-test (a starved agent)"
    )
    late_of: int = parameter(
        10, unit="count", source="chosen: as many seconds, longer than any pause of a busy host"
    )
    late_begins: int = parameter(
        8, unit="count", source="chosen: pytest tests/localizer (late timers)"
    )
    late_ends: int = parameter(
        4, unit="count", source="chosen: pytest tests/localizer (late timers)"
    )
    back_s: int = parameter(2, unit="s", source="chosen: make fabric-test (a restarted agent)")


DEFAULT: Final = SilenceParameters()


@dataclass(slots=True)
class HostStates:
    """(H,) state of each host at the end of a second.

    silent    not seen for ``silent_s``, or said goodbye
    doubtful  not seen for ``doubtful_s``, or its first heartbeat is yet to come
    starved   its heartbeats show that its CPU is withheld
    late      most of its newest heartbeats show late timers
    back      silent, or yet to start, until ``back_s`` ago: its return says nothing about the
              network
    short     so within the length of a window: its windows are shorter than those before
    """

    silent: Bool
    doubtful: Bool
    starved: Bool
    late: Bool
    back: Bool
    short: Bool


def host_states(
    hosts: HostActivity,
    second: int,
    parameters: SilenceParameters = DEFAULT,
    window_s: int = DEFAULT_TIMING.window_s,
) -> HostStates:
    """States at the end of a second, from what was sent about that second.

    Heartbeats arrive ahead of the watermark, so later ones are known already: they must not make a
    host look alive that was silent then, but a report of starvation covers the second before it was
    written. Updates ``hosts.last_silent`` and ``hosts.late``.
    """
    now, count = second + 1.0, len(hosts)
    age = _age(hosts, now)
    pace_s = hosts.pace_s
    silent, doubtful = age > parameters.silent_s * pace_s, age > parameters.doubtful_s * pace_s
    if hosts.heartbeats:  # a host that never sent one is not known to be able to
        never = np.array([code not in hosts.heartbeats for code in range(count)], bool)
        silent[never] = doubtful[never] = False
    # Heartbeats arrive ahead of the watermark: an agent whose first one is known by now is not
    # gone, it has yet to start.
    starting = silent & np.isinf(age)
    silent[starting] = False
    unseen = np.isinf(age) if hosts.heartbeats else hosts.probed_s < 0
    for code, since_s in hosts.absent.items():
        if unseen[code] and second >= since_s:
            silent[code] = doubtful[code] = True
    for code in hosts.goodbyes:
        silent[code] = True
    starved = np.zeros(count, bool)
    first, last = now - parameters.starved_before_s, now + parameters.starved_after_s
    for code, times in hosts.starvation.items():
        starved[code] = any(first <= t <= last for t in times)
    _update_late(hosts, now, silent, parameters)
    late = np.zeros(count, bool)
    late[list(hosts.late)] = True
    for code in np.flatnonzero(silent | starting).tolist():
        hosts.last_silent[code] = second
    back, short = np.zeros(count, bool), np.zeros(count, bool)
    for code, last_s in list(hosts.last_silent.items()):
        back[code] = not silent[code] and second - last_s <= parameters.back_s
        short[code] = second - last_s <= window_s
        if second - last_s > window_s:
            del hosts.last_silent[code]
    return HostStates(silent, doubtful, starved, late, back, short)


def _age(hosts: HostActivity, now: float) -> npt.NDArray[np.float64]:
    """(H,) time since the newest heartbeat before ``now`` [s]; since the newest own probe where no
    host of the fabric sends heartbeats."""
    if not hosts.heartbeats:
        return np.asarray(now - 1.0 - hosts.probed_s.astype(float))
    age = np.full(len(hosts), np.inf)
    latest = now + hosts.parameters.clock_s
    for code, times in hosts.heartbeats.items():
        upto = bisect.bisect_right(times, latest)
        if upto:
            age[code] = now - times[upto - 1]
        elif len(times) == hosts.parameters.heartbeats:
            age[code] = 0.0  # heartbeats are far ahead of the panes: this second's was dropped
    return age


def _update_late(
    hosts: HostActivity, now: float, silent: Bool, parameters: SilenceParameters
) -> None:
    """Update which hosts' timers are late, by their newest heartbeats before ``now``.

    It takes more of them to begin than to go on, so that a host at the bound does not flicker. A
    host whose heartbeats are missing is another matter, and so is one with too few heartbeats.
    """
    latest = now + hosts.parameters.clock_s
    for code, late_at in hosts.late_timers.items():
        times = hosts.heartbeats[code]
        newest = times[: bisect.bisect_right(times, latest)][-parameters.late_of :]
        count = len(set(newest).intersection(late_at))
        enough = parameters.late_ends + 1 if code in hosts.late else parameters.late_begins
        if not silent[code] and len(newest) == parameters.late_of and count >= enough:
            hosts.late.add(code)
        else:
            hosts.late.discard(code)


def observers(of: I32, by: I32, mask: Bool, hosts: int) -> I64:
    """(H,) how many distinct other hosts are in ``by`` among the masked paths towards each host.

    of, by  (P,) host observed and host that observes
    """
    rows = mask & (of != by)
    pairs = np.unique(of[rows].astype(np.int64) * hosts + by[rows])
    return np.bincount(pairs // hosts, minlength=hosts)
