"""The five-tuple: the unit of probing, because ECMP fixes the route per five-tuple."""

from __future__ import annotations

from dataclasses import dataclass, field

from probers.net.packet import Address

Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class FiveTuple:
    """UDP from ``src`` to ``dst``; ``columns`` are common to all records about it."""

    src: Address
    dst: Address
    dscp: int = 0
    columns: dict[str, Value] = field(default_factory=dict, compare=False, repr=False)
