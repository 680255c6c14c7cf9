"""A fault of the real fabric: the request, and once it is applied what undoing it needs."""

from __future__ import annotations

import msgspec

from testbed.netns.machine import Process


class FaultError(ValueError):
    """The fault cannot be applied as requested; one line."""


class Fault(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A requested fault, and the state that undoes it.

    target, action  network loss, cpu load, ... as ChaosBlade spells them
    at              component id
    percent         of packets (network), of time without a CPU (cpu load), of one CPU (cpu quota)
                    [%]
    time_us         delay of packets that leave the component, in each direction [us]
    others          share of the delay of packets that are not between NICs of the same host [1]
    offset_us       the delay varies by +- this [us]
    share           of five-tuples that are hit [1]
    period_s        of flapping, of cpu load, and of a delay that is there half of the time [s]
    mtu             largest packet [bytes]
    destination     only packets from or to this address are hit
    layer           overlay: only tunnelled packets are hit, as they cross the underlay
    address         that the NIC has instead of its own
    direction       of a link: both, a>b or b>a
    """

    target: str
    action: str
    at: str
    percent: float | None = None
    time_us: float | None = None
    offset_us: float | None = None
    share: float | None = None
    others: float | None = None
    period_s: float | None = None
    mtu: int | None = None
    destination: str | None = None
    layer: str | None = None
    address: str | None = None
    direction: str = "both"
    issue_type: str | None = None

    fault_id: str = ""
    started_ns: int = 0
    tables: list[str] = []  # nodes with an nft table of this fault
    helpers: list[Process] = []  # processes that keep it in place
    victims: list[Process] = []  # processes that are killed, starved or throttled
    before: dict[str, str] = {}  # "node device" -> MTU, pid -> cgroup, before the fault

    @property
    def table(self) -> str:
        """Name of the fault's nft tables."""
        return f"skh_{self.fault_id}"

    def __str__(self) -> str:
        return f"{self.fault_id} ({self.target} {self.action} at {self.at})"
