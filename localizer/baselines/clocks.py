"""Which sources' clocks are wrong: off by the same for a while, not merely late for a moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class ClockParameters:
    """When an offset is a wrong clock.

    lasting_s  it lasts at least so long: a gap in the input makes a source look late for less
    steady_s   and changes by no more than this: a wrong clock is wrong by the same
    expires_s  an offset that is not reported for so long is over; a step that closes several
               seconds reports it only at its end
    """

    lasting_s: int = parameter(
        5, unit="s", source="chosen: pytest tests/localizer/baselines (clocks)"
    )
    steady_s: float = parameter(
        2.0, unit="s", source="chosen: pytest tests/localizer/baselines (clocks)"
    )
    expires_s: int = parameter(
        3, unit="s", source="chosen: pytest tests/localizer/baselines (clocks)"
    )


DEFAULT: Final = ClockParameters()


class ClockWatch:
    """Follows what windowers report of sources whose clock differs from their peers'."""

    def __init__(self, parameters: ClockParameters = DEFAULT) -> None:
        self.parameters = parameters
        #: (partition, name) -> first second, offset [s], newest second
        self._offsets: dict[tuple[int, str], tuple[int, float, int]] = {}

    def observe(self, partition: int, watermark_s: int, skewed: dict[str, float]) -> None:
        """Add a punctuation: the offsets [s] of all skewed sources of a partition, by name."""
        for name, offset_s in skewed.items():
            first_s, offset, _ = self._offsets.get((partition, name), (watermark_s, offset_s, 0))
            if abs(offset - offset_s) > self.parameters.steady_s:
                first_s, offset = watermark_s, offset_s
            self._offsets[partition, name] = (first_s, offset, watermark_s)
        for key, (_, _, last_s) in list(self._offsets.items()):
            if key[0] == partition and watermark_s - last_s >= self.parameters.expires_s:
                del self._offsets[key]

    def __len__(self) -> int:
        return len(self._offsets)

    def drop_before(self, second: int) -> None:
        """Drop offsets not reported since; their partition may be read by another worker."""
        for key, (_, _, last_s) in list(self._offsets.items()):
            if last_s < second:
                del self._offsets[key]

    def suspects(self) -> set[str]:
        """Sources that are off now, steadily or not."""
        return {name for _, name in self._offsets}

    def wrong(self) -> dict[str, float]:
        """Sources whose offset has been steady for ``lasting_s``: name -> offset [s]."""
        return {
            name: offset
            for (_, name), (first_s, offset, last_s) in self._offsets.items()
            if last_s - first_s >= self.parameters.lasting_s
        }
