"""Which clocks are wrong: off by about the same for a while, not merely late for a moment."""

from __future__ import annotations

from typing import Final

LASTING_S: Final = 5  # a gap in the input can make a source look late for less
STEADY_S: Final = 2.0  # a clock that is wrong is wrong by the same
FORGIVEN_S: Final = 3  # unheard of for so long; a step of several seconds names it only at its end


class ClockWatch:
    """Follows what windowers say about sources whose clock differs from their peers'."""

    def __init__(self) -> None:
        self._since: dict[tuple[int, str], tuple[int, float, int]] = {}  # first s, offset, last s

    def hear(self, partition: int, watermark_s: int, skewed: dict[str, float]) -> None:
        """Take a punctuation: the offsets [s] of all skewed sources of a partition, by name."""
        for name, offset_s in skewed.items():
            first_s, offset, _ = self._since.get((partition, name), (watermark_s, offset_s, 0))
            if abs(offset - offset_s) > STEADY_S:
                first_s, offset = watermark_s, offset_s
            self._since[partition, name] = (first_s, offset, watermark_s)
        for key, (_, _, last_s) in list(self._since.items()):
            if key[0] == partition and watermark_s - last_s >= FORGIVEN_S:
                del self._since[key]

    def __len__(self) -> int:
        return len(self._since)

    def forget(self, second: int) -> None:
        """Drop what partitions said that have said nothing since; they may be read elsewhere."""
        for key, (_, _, last_s) in list(self._since.items()):
            if last_s < second:
                del self._since[key]

    def suspects(self) -> set[str]:
        """Sources that are off now, steadily or not."""
        return {name for _, name in self._since}

    def wrong(self) -> dict[str, float]:
        """Sources whose offset has been steady for LASTING_S: name -> offset [s]."""
        return {
            name: offset
            for (_, name), (first_s, offset, last_s) in self._since.items()
            if last_s - first_s >= LASTING_S
        }
