"""A fault of the real fabric, as it is asked for and as it is remembered."""

from __future__ import annotations

import msgspec

from testbed.netns.machine import Process


class FaultError(ValueError):
    """The fault cannot be made as it was asked for; one line."""


class Fault(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What, where, how much; and, once it is made, what has to be undone.

    target, action  network loss, cpu load, ... as ChaosBlade spells them
    at              component id
    percent         of packets (network), of time without a processor (cpu)
    time_us         added where the component is left, in each direction [us]; offset_us: +- of it
    share           of five-tuples
    period_s        of flapping and of cpu load
    direction       of a link: both, a>b or b>a
    """

    target: str
    action: str
    at: str
    percent: float | None = None
    time_us: float | None = None
    offset_us: float | None = None
    share: float | None = None
    period_s: float | None = None
    mtu: int | None = None
    destination: str | None = None
    address: str | None = None
    direction: str = "both"
    issue_type: str | None = None

    fault_id: str = ""
    started_ns: int = 0
    tables: list[str] = []  # nodes that have an nft table of this fault
    helpers: list[Process] = []  # processes that make it last
    victims: list[Process] = []  # processes that suffer it
    before: dict[str, str] = {}  # what was there before

    @property
    def table(self) -> str:
        """Name of its nft tables."""
        return f"skh_{self.fault_id}"

    def __str__(self) -> str:
        return f"{self.fault_id} ({self.target} {self.action} at {self.at})"
