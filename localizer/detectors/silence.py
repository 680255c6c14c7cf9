"""Who fell silent, and whose fault that is: the decision table of silence.

heartbeat + timeouts                                    -> network or rnic: not decided here
no heartbeat + refused                                  -> agent_down
no heartbeat + timeouts on all rnics, both layers       -> host_down
heartbeat that shows starvation + timeouts              -> agent_starved
Between "no heartbeat for a moment" and "no heartbeat" nobody is blamed for the host's time-outs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import GrowableArray
from localizer.fabric.path_table import Path

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

DOUBTFUL_S = 1.6  # without a heartbeat for so long, time-outs wait
SILENT_S = 3.2  # and for so long, the agent is taken to be gone
STARVED_STEAL = 0.25
STARVED_DELAY_US = 100_000.0
EARLY_S = 0.2  # clocks of heartbeats and probes may differ by so much
STARVED_AHEAD_S = 2.0
BACK_S = 2
WINDOW_S = 30  # what latencies are compared over
KEPT_BEATS = 16


@dataclass(slots=True)
class Hosts:
    """(H,) state of each host, as of the second that is judged."""

    silent: Bool  # no sign of life for SILENT_S
    doubtful: Bool  # none for DOUBTFUL_S
    starved: Bool
    back: Bool  # silent until BACK_S ago: the seconds of its return say nothing about the network
    short: Bool  # silent until WINDOW_S ago: its windows are shorter than those of the past


@dataclass(frozen=True, slots=True)
class LastSeen:
    """(H,) when hosts were last heard of."""

    last_s: npt.NDArray[np.float64]  # newest heartbeat or own probe [s], -inf: never
    probed_s: I64  # newest second with an own probe
    beats: Bool  # has ever sent a heartbeat
    goodbye: Bool  # said itself that it stops


class HostMemory:
    """Signs of life of the hosts of one fabric: heartbeats, or own probes where none are sent."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._code: dict[str, int] = {}
        self._beats: dict[int, list[float]] = {}  # host -> times of its newest heartbeats [s]
        self._starved: dict[int, list[float]] = {}  # host -> times of its signs of starvation [s]
        self._dead: set[int] = set()  # said so itself: alive = false
        self._rnics: dict[int, set[str]] = {}
        self._silent_s: dict[int, int] = {}  # host -> newest second in which it was silent
        self._own = GrowableArray(
            np.int64, fill=-(10**9)
        )  # newest second with an own probe, per host

    def __len__(self) -> int:
        return len(self.names)

    def code(self, name: str) -> int:
        """Dense number of a host."""
        code = self._code.get(name)
        if code is None:
            code = self._code[name] = len(self.names)
            self.names.append(name)
            self._own.grow(len(self.names))
        return code

    @property
    def _sent(self) -> I64:
        return self._own.values

    def find(self, name: str) -> int:
        """Number of a host; -1 when it is not known."""
        return self._code.get(name, -1)

    def place(self, path: Path) -> tuple[int, int]:
        """Source and destination host of a path."""
        return (
            self.end(path.src_node_sn, path.src_real_ip),
            self.end(path.dst_node_sn, path.dst_real_ip),
        )

    def end(self, name: str, rnic: str) -> int:
        """Host at one end of a path, through that rnic."""
        code = self.code(name)
        self._rnics.setdefault(code, set()).add(rnic)
        return code

    def beat(self, name: str, time_s: float, *, alive: bool, steal: float, delay_us: float) -> None:
        """Take a heartbeat; one that is heard again, however late, changes nothing."""
        code = self.code(name)
        if time_s >= max(self._beats.get(code, ()), default=-np.inf):  # the newest word counts
            self._dead.discard(code) if alive else self._dead.add(code)
        _remember(self._beats, code, time_s)
        if steal >= STARVED_STEAL or delay_us >= STARVED_DELAY_US:
            _remember(self._starved, code, time_s)

    def probed(self, second: int, sources: I32) -> None:
        """These hosts sent probes in this second."""
        self._sent[np.unique(sources)] = second

    def probed_through(self, ends: Iterable[tuple[int, str]]) -> None:
        """These are all rnics that are probed: host, rnic."""
        self._rnics = {}
        for host, rnic in ends:
            self._rnics.setdefault(host, set()).add(rnic)

    def rnics(self, host: int) -> int:
        """How many rnics of a host are probed."""
        return len(self._rnics.get(host, ()))

    def heard(self, since_s: float) -> Bool:
        """(H,) hosts that have sent a heartbeat or a probe since then."""
        out = self._sent + 1.0 > since_s
        for code, times in self._beats.items():
            out[code] |= max(times) > since_s
        return out

    def keep(self, hosts: Bool) -> None:
        """Forget the other hosts; those that are left close up in their order."""
        new = dict(zip(np.flatnonzero(hosts).tolist(), range(len(hosts)), strict=False))
        self.names = [self.names[code] for code in new]
        self._code = {name: code for code, name in enumerate(self.names)}
        self._own.retain(hosts)
        self._beats = {new[code]: times for code, times in self._beats.items() if code in new}
        self._starved = {new[code]: times for code, times in self._starved.items() if code in new}
        self._dead = {new[code] for code in self._dead if code in new}
        self._rnics = {new[code]: rnics for code, rnics in self._rnics.items() if code in new}
        self._silent_s = {new[code]: at for code, at in self._silent_s.items() if code in new}

    def life(self, second: int) -> LastSeen:
        """Newest signs of life up to the end of a second."""
        count, now = len(self.names), second + 1.0 + EARLY_S
        last = np.where(self._sent > 0, self._sent + 1.0, -np.inf)
        beats, goodbye = np.zeros(count, bool), np.zeros(count, bool)
        for code, times in self._beats.items():
            beats[code] = True
            last[code] = max([last[code], *(t for t in times if t <= now)])
        goodbye[list(self._dead)] = True
        return LastSeen(last, self._sent, beats, goodbye)

    def state(self, second: int) -> Hosts:
        """State at the end of a second, by what was said about that second.

        Heartbeats arrive ahead of the watermark, so later ones are known already: they must not
        make a host look alive that was dead then, but a report of starvation covers the second
        before it was written.
        """
        now = second + 1.0
        hosts = len(self.names)
        age = np.full(hosts, np.inf)
        if self._beats:
            for code, times in self._beats.items():
                newest = max((t for t in times if t <= now + EARLY_S), default=-np.inf)
                if newest == -np.inf and len(times) == KEPT_BEATS:
                    newest = (
                        now  # heartbeats are far ahead of the panes: this second's is forgotten
                    )
                age[code] = now - newest
        else:  # nobody sends heartbeats here: own probes are the only sign of life
            age = now - 1.0 - self._sent.astype(float)
        silent, doubtful = age > SILENT_S, age > DOUBTFUL_S
        if self._beats:  # a host that never sent one is not known to be able to
            never = np.array([code not in self._beats for code in range(hosts)], bool)
            silent[never] = doubtful[never] = False
        for code in self._dead:
            silent[code] = True
        starved = np.zeros(hosts, bool)
        for code, times in self._starved.items():
            starved[code] = any(now - 2.5 <= t <= now + STARVED_AHEAD_S for t in times)
        for code in np.flatnonzero(silent).tolist():
            self._silent_s[code] = second
        back, short = np.zeros(hosts, bool), np.zeros(hosts, bool)
        for code, last_s in list(self._silent_s.items()):
            back[code] = not silent[code] and second - last_s <= BACK_S
            short[code] = second - last_s <= WINDOW_S
            if second - last_s > WINDOW_S:
                del self._silent_s[code]
        return Hosts(silent, doubtful, starved, back, short)


def _remember(of: dict[int, list[float]], host: int, time_s: float) -> None:
    times = of.setdefault(host, [])
    if time_s in times:
        return
    times.append(time_s)
    if len(times) > KEPT_BEATS:
        times.sort()
        del times[0]


def observers(of: I32, by: I32, mask: Bool, hosts: int) -> I64:
    """(H,) how many distinct other hosts are in ``by`` among the masked paths towards each host.

    of, by  (P,) host observed and host that observes
    """
    rows = mask & (of != by)
    pairs = np.unique(of[rows].astype(np.int64) * hosts + by[rows])
    return np.bincount(pairs // hosts, minlength=hosts)
