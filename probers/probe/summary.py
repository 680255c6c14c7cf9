"""What probes of one target showed, in one line. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from probers.net.addresses import at_port
from probers.net.packet import Address
from probers.probing.udp import Burst

_BARS: Final = "▁▂▃▄▅▆▇█"
_LOST_BAR: Final = "x"
_SHOWN: Final = 40  # newest bursts in a sparkline


@dataclass(slots=True)
class Summary:
    """Counts and round trips [us] of one target; ``newest`` has a median per burst, None: lost."""

    target: Address
    sent: int = 0
    lost: int = 0
    refused: int = 0
    errors: int = 0
    rtts_us: list[float] = field(default_factory=list)
    newest: list[float | None] = field(default_factory=list)

    def add(self, burst: Burst) -> None:
        """Count a burst."""
        self.sent += burst.sent
        self.lost += burst.lost
        self.refused += burst.dials.count("refused")
        self.errors += burst.dials.count("error")
        rtts = sorted(each.rtt_us for each in burst.round_trips)
        self.rtts_us += rtts
        if burst.sent:
            self.newest.append(quantile(rtts, 0.5) if rtts else None)

    @property
    def line(self) -> str:
        """The target, what was lost, percentiles and a sparkline."""
        name = at_port(self.target) if self.target[1] else self.target[0]
        said = f"{name}  sent {self.sent}, lost {self.lost}"
        if self.sent:
            said += f" ({100 * self.lost / self.sent:.1f} %)"
        for count, what in ((self.refused, "refused"), (self.errors, "not sent")):
            said += f", {count} {what}" if count else ""
        if self.rtts_us:
            rtts = sorted(self.rtts_us)
            p50, p99 = quantile(rtts, 0.5), quantile(rtts, 0.99)
            said += f"; P50 {p50:.1f} us, P99 {p99:.1f} us, worst {rtts[-1]:.1f} us"
        return f"{said}  {sparkline(self.newest[-_SHOWN:])}".rstrip()


def quantile(ascending: list[float], share: float) -> float:
    """The smallest value that ``share`` of them do not exceed."""
    return ascending[max(0, -(-int(share * 1000) * len(ascending) // 1000) - 1)]


def sparkline(values: list[float | None]) -> str:
    """A bar for each value, from the lowest to the highest one; x: none."""
    known = [value for value in values if value is not None]
    low, span = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
    bars = []
    for value in values:
        if value is None:
            bars.append(_LOST_BAR)
        else:
            bars.append(_BARS[int((len(_BARS) - 1) * (value - low) / span)] if span else _BARS[0])
    return "".join(bars)
