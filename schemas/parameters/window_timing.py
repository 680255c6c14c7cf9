"""The figures of time that the windower and the localizer have to agree on."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class WindowTiming:
    """How event time is cut into panes of a second and windows.

    lateness_s  a pane waits so long for stragglers after its end; an incident is detected at the
                watermark of its decision + this
    window_s    length of the windows over which round trips are compared
    hop_s       from the start of one window to that of the next
    skew_s      a record whose clock is so far off the median of its peers is not judged
    idle_s      a sender, or a partition, that is silent for so long does not hold back the others
    startup_s   nothing closes before the records of one source span this: others must be heard
    """

    lateness_s: float = parameter(
        2.0, unit="s",
        source="chosen: make scorecard (time to detection); a batch of an agent spans 1 s",
    )  # fmt: skip
    window_s: int = parameter(30, unit="s", source="SkeletonHunter, SIGCOMM 2025")
    hop_s: int = parameter(
        5, unit="s", source="chosen: make scorecard (time to detection of latency)"
    )
    skew_s: float = parameter(5.0, unit="s", source="chosen: pytest tests/streams -k window")
    idle_s: float = parameter(5.0, unit="s", source="chosen: pytest tests/streams -k window")
    startup_s: float = parameter(3.0, unit="s", source="chosen: pytest tests/streams -k window")

    @property
    def third_s(self) -> int:
        """A path must have answered in each third of a window for its latency to be judged [s]."""
        return self.window_s // 3


#: What the product runs with where nothing else is given.
DEFAULT_TIMING = WindowTiming()
