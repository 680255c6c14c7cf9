"""The Kafka headers of a message on skh.windows."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from schemas.limits import LIMITS

Kind = Literal["pane", "window", "routes", "heartbeats", "punctuation"]
#: Kinds whose messages have rows, and punctuations.
KINDS: Final[tuple[Kind, ...]] = ("pane", "window", "routes", "heartbeats", "punctuation")
_END_S: Final = 2**32  # year 2106, the end of ClickHouse's DateTime
#: What headers mean that a former release does not write.
_ABSENT: Final = {"returning": b"0"}


class WindowsError(ValueError):
    """A message on skh.windows is not one that this release reads."""


class Header(NamedTuple):
    """The Kafka headers of a message on skh.windows.

    start_s, end_s  the pane or window is [start_s, end_s) [s since the epoch]
    partition       of skh.pings whose records were counted
    epoch           rises with each assignment of that partition to a worker
    chunk, chunks   index of this chunk, 0..chunks-1, and number of chunks of the pane
    watermark_ms    event-time watermark of the partition when this was written [ms since the epoch]
    idle            the partition has no live source
    returning       its first records after a long silence came seconds ago, so that those of other
                    partitions may be on their way; a former release does not write this
    """

    kind: Kind
    fabric: str
    start_s: int = 0
    end_s: int = 0
    partition: int = 0
    epoch: int = 0
    chunk: int = 0
    chunks: int = 1
    watermark_ms: int = 0
    idle: bool = False
    returning: bool = False

    def to_kafka(self) -> list[tuple[str, bytes]]:
        """Kafka headers, all text."""
        return [
            (name, str(int(value) if isinstance(value, bool) else value).encode())
            for name, value in self._asdict().items()
        ]

    @classmethod
    def from_kafka(cls, headers: dict[str, bytes]) -> Header:
        """Inverse of to_kafka; raises WindowsError when a header is missing or not a number."""
        try:
            known = _ABSENT | headers
            text = {name: known[name].decode() for name in cls._fields}
            kind = text.pop("kind")
            fabric = text.pop("fabric")
            numbers = {name: int(value) for name, value in text.items()}
        except (KeyError, ValueError) as why:
            what = str(why)[:200]
            raise WindowsError(f"skh.windows: bad header {what}; was it written by us?") from why
        if kind not in KINDS:
            raise WindowsError(f"skh.windows: kind {kind[:60]!r} is not known to this release")
        idle, returning = bool(numbers.pop("idle")), bool(numbers.pop("returning"))
        header = cls(kind=kind, fabric=fabric, idle=idle, returning=returning, **numbers)
        if (name := header._invalid_field()) is not None:
            raise WindowsError(f"skh.windows: bad header {name}: no pane or window has this")
        return header

    def _invalid_field(self) -> str | None:
        """Name of the first field whose value no writer sends, or None."""
        valid = {
            "fabric": len(self.fabric.encode()) <= LIMITS.name_bytes,
            "start_s": 0 <= self.start_s < _END_S,
            "end_s": self.start_s <= self.end_s < _END_S,
            "partition": 0 <= self.partition < 2**31,
            "epoch": 0 <= self.epoch < 2**63,
            "chunks": 0 < self.chunks <= LIMITS.chunks,
            "chunk": 0 <= self.chunk < self.chunks,
            "watermark_ms": 0 <= self.watermark_ms < 1000 * _END_S,
        }
        return next((name for name, is_valid in valid.items() if not is_valid), None)
