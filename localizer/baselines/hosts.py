"""When each host of a fabric was last seen: its heartbeats, and the probes that it sent itself."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import GrowableArray
from schemas.parameters.parameter import parameter

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

_NEVER: Final = -(10**9)


@dataclass(frozen=True, slots=True)
class HostActivityParameters:
    """What is remembered of heartbeats.

    heartbeats        newest heartbeats of a host that are remembered
    clock_s           by how much the clocks of heartbeats and probes may differ
    starved_steal     share of CPU time withheld from which on an agent counts as starved,
    starved_delay_us  or scheduling delay
    pace_kept         share of a host's longest pause that is left after each later probe
    pace_grows        by how much one pause may lengthen it: an outage is no cadence
    """

    heartbeats: int = parameter(
        16, unit="count", source="chosen: heartbeats come once a second, 3 s ahead of the watermark"
    )
    clock_s: float = parameter(
        0.2, unit="s", source="chosen: pytest tests/localizer (heartbeats and probes)"
    )
    starved_steal: float = parameter(
        0.25, unit="1", source="chosen: make fabric-test (a starved agent)"
    )
    starved_delay_us: float = parameter(
        100_000.0,
        unit="us",
        source="measured: tests/system/test_starved_host.py, 130 ms and more in each second with a "
        "fifth of a CPU, 17 ms at most without",
    )
    pace_kept: float = parameter(
        0.98, unit="1", source="chosen: a pause counts half after 35 seconds with probes"
    )
    pace_grows: float = parameter(
        3.0, unit="1", source="chosen: from a second to a minute in four pauses"
    )


DEFAULT: Final = HostActivityParameters()


@dataclass(frozen=True, slots=True)
class LastSeen:
    """(H,) when hosts were last seen.

    last_s    newest heartbeat or own probe [s]; -inf: never
    probed_s  newest second with an own probe
    beats     has ever sent a heartbeat
    goodbye   said itself that it stops
    """

    last_s: npt.NDArray[np.float64]
    probed_s: I64
    beats: Bool
    goodbye: Bool


class HostActivity:
    """Heartbeats and own probes of the hosts of one fabric.

    heartbeats   host -> times of its newest heartbeats, rising [s]
    starvation   host -> times of its newest heartbeats that showed a starved agent [s]
    late_timers  host -> times of its newest heartbeats that showed late timers [s]
    late         hosts whose timers have been late for long
    goodbyes     hosts whose newest heartbeat says that they stop
    last_silent  host -> newest second in which it was found silent
    absent       host -> since when a former process found it silent [s], until its next heartbeat
    """

    def __init__(self, parameters: HostActivityParameters = DEFAULT) -> None:
        self.parameters = parameters
        self.names: list[str] = []
        self.heartbeats: dict[int, list[float]] = {}
        self.starvation: dict[int, list[float]] = {}
        self.late_timers: dict[int, list[float]] = {}
        self.late: set[int] = set()
        self.goodbyes: set[int] = set()
        self.last_silent: dict[int, int] = {}
        self.absent: dict[int, float] = {}
        self._code: dict[str, int] = {}
        self._rnics: dict[int, set[str]] = {}
        self._own = GrowableArray(np.int64, fill=_NEVER)  # newest second with an own probe
        self._pause = GrowableArray(np.float64)  # longest of late between two of them [s]; 0: none

    def __len__(self) -> int:
        return len(self.names)

    @property
    def probed_s(self) -> I64:
        """(H,) newest second with an own probe; far in the past for none."""
        return self._own.values

    @property
    def pace_s(self) -> npt.NDArray[np.float64]:
        """(H,) time in which a host that is alive shows it [s]: 1 where hosts send heartbeats, else
        the longest of late between two seconds with own probes, inf where it is not known yet."""
        if self.heartbeats:
            return np.ones(len(self.names))
        return np.where(self._pause.values > 0, self._pause.values, np.inf)

    def code(self, name: str) -> int:
        """Dense number of a host, a new one if it is not known."""
        code = self._code.get(name)
        if code is None:
            code = self._code[name] = len(self.names)
            self.names.append(name)
            self._own.grow(len(self.names))
            self._pause.grow(len(self.names))
        return code

    def find(self, name: str) -> int:
        """Number of a host; -1 when it is not known."""
        return self._code.get(name, -1)

    def end(self, name: str, rnic: str) -> int:
        """Number of the host at one end of a path, through that rnic."""
        code = self.code(name)
        self._rnics.setdefault(code, set()).add(rnic)
        return code

    def absent_since(self, name: str, since_s: float) -> None:
        """Note that a former process has found a host silent since then."""
        self.absent[self.code(name)] = since_s

    def beat(self, name: str, time_s: float, *, alive: bool, steal: float, delay_us: float) -> None:
        """Add a heartbeat; the same one again, however late, changes nothing."""
        code, parameters = self.code(name), self.parameters
        if self.absent and time_s > self.absent.get(code, time_s):
            del self.absent[code]
        known = self.heartbeats.get(code)
        if not known or time_s >= known[-1]:  # the newest counts
            self.goodbyes.discard(code) if alive else self.goodbyes.add(code)
        if known and time_s > known[-1]:  # nearly all
            known.append(time_s)
            del known[: -parameters.heartbeats]
        else:
            self._remember(self.heartbeats, code, time_s)
        if steal >= parameters.starved_steal or delay_us >= parameters.starved_delay_us:
            self._remember(self.starvation, code, time_s)
        # Withheld time alone is no delay: a group of many busy threads, with the agent among them,
        # reports much of it for a moment of each.
        if delay_us >= parameters.starved_delay_us:
            self._remember(self.late_timers, code, time_s)

    def probed(self, second: int, sources: I32) -> None:
        """Note that these hosts sent probes in this second."""
        probing = np.zeros(len(self.names), bool)
        probing[sources] = True
        before = self._own.values
        hosts = np.flatnonzero(probing & (before > _NEVER) & (before < second))
        since = second - before[hosts]
        known, p = self._pause.values[hosts], self.parameters
        most = np.where(known > 0, p.pace_grows * known, since)
        self._pause.values[hosts] = np.maximum(
            np.maximum(np.minimum(since, most), p.pace_kept * known), 1.0
        )
        self._own.values[sources] = second

    def probed_through(self, ends: Iterable[tuple[int, str]]) -> None:
        """Replace what is known of probed rnics by these: host, rnic."""
        self._rnics = {}
        for host, rnic in ends:
            self._rnics.setdefault(host, set()).add(rnic)

    def rnics(self, host: int) -> int:
        """How many rnics of a host are probed."""
        return len(self._rnics.get(host, ()))

    def heard(self, since_s: float) -> Bool:
        """(H,) hosts that have sent a heartbeat or a probe since then."""
        out = self.probed_s + 1.0 > since_s
        for code, times in self.heartbeats.items():
            out[code] |= times[-1] > since_s
        return out

    def last_seen(self, second: int) -> LastSeen:
        """When hosts were last seen, up to the end of a second."""
        count, now = len(self.names), second + 1.0 + self.parameters.clock_s
        last = np.where(self.probed_s > 0, self.probed_s + 1.0, -np.inf)
        beats, goodbye = np.zeros(count, bool), np.zeros(count, bool)
        for code, times in self.heartbeats.items():
            beats[code] = True
            if upto := bisect.bisect_right(times, now):
                last[code] = max(last[code], times[upto - 1])
        goodbye[list(self.goodbyes)] = True
        for code, since_s in self.absent.items():
            last[code] = max(last[code], since_s)
            beats[code] = bool(self.heartbeats)
        return LastSeen(last, self.probed_s, beats, goodbye)

    def retain(self, hosts: Bool) -> None:
        """Drop all other hosts (H,); those that are left close up in their order."""
        new = dict(zip(np.flatnonzero(hosts).tolist(), range(len(hosts)), strict=False))
        self.names = [self.names[code] for code in new]
        self._code = {name: code for code, name in enumerate(self.names)}
        self._own.retain(hosts)
        self._pause.retain(hosts)
        self.heartbeats = {new[code]: t for code, t in self.heartbeats.items() if code in new}
        self.starvation = {new[code]: t for code, t in self.starvation.items() if code in new}
        self.late_timers = {new[code]: t for code, t in self.late_timers.items() if code in new}
        self.late = {new[code] for code in self.late if code in new}
        self.goodbyes = {new[code] for code in self.goodbyes if code in new}
        self._rnics = {new[code]: rnics for code, rnics in self._rnics.items() if code in new}
        self.last_silent = {new[code]: s for code, s in self.last_silent.items() if code in new}
        self.absent = {new[code]: s for code, s in self.absent.items() if code in new}

    def _remember(self, of: dict[int, list[float]], host: int, time_s: float) -> None:
        times = of.setdefault(host, [])
        if time_s in times:
            return
        bisect.insort(times, time_s)
        if len(times) > self.parameters.heartbeats:
            del times[0]
