"""Parameters of the sink: when a batch is stored, and how it is tried again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class Limits:
    """When a batch is due: whichever comes first."""

    rows: int = parameter(
        200_000, unit="rows", source="chosen: few large inserts cost ClickHouse least"
    )
    bytes: int = parameter(64 * 1024 * 1024, unit="B", source="chosen: bounds the memory")
    age_s: float = parameter(1.0, unit="s", source="chosen: a pane spans 1 s")


@dataclass(frozen=True, slots=True)
class SinkParameters:
    """How messages are batched and stored.

    batch              when a batch is due
    decode_messages    messages of skh.pings that are decoded together at the most,
    decode_bytes       and so much payload
    record_bytes       rows that are not decoded yet are counted as one for so much payload
    least_pause_s      first pause between attempts to store a batch; pauses grow,
    longest_pause_s    up to this
    letter_characters  of a text of a dead letter that is stored
    """

    batch: Limits = Limits()
    decode_messages: int = parameter(512, unit="messages", source="chosen: bounds the memory")
    decode_bytes: int = parameter(8 * 1024 * 1024, unit="B", source="chosen: bounds the memory")
    record_bytes: int = parameter(64, unit="B", source="chosen: rather too many rows than too few")
    least_pause_s: float = parameter(0.2, unit="s", source="chosen: pytest tests/streams/sink")
    longest_pause_s: float = parameter(10.0, unit="s", source="chosen: pytest tests/streams/sink")
    letter_characters: int = parameter(
        4096, unit="characters", source="chosen: those of SkeletonHunter are shorter"
    )


DEFAULT: Final = SinkParameters()
