"""Parameters of inference in the running service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class TrafficParameters:
    """kept_s   throughput that is held of each job
    growth      a skeleton is inferred again when so many times as much throughput is there
    again_s     and, once ``kept_s`` are there, after so long
    confidence  below it a skeleton is not used
    rnics       whose throughput is held, of all jobs together
    ahead_s     samples of clocks that are further ahead are refused
    """

    kept_s: int = parameter(
        900, unit="s", source="chosen: skeletonhunter check skeleton (docs/controller.md)"
    )
    growth: float = parameter(
        1.5, unit="1", source="chosen: four inferences in the first 900 s of a job"
    )
    again_s: int = parameter(
        900, unit="s", source="chosen: kept_s, so that each sample is used once"
    )
    confidence: float = parameter(
        0.5, unit="1", source="chosen: the fidelity that is required and a quarter of exceptions "
        "leave 0.67; a third of the positions may share clusters"
    )  # fmt: skip
    rnics: int = parameter(
        32_768, unit="rnics", source="chosen: 240 MB; twice the largest layout that was tried"
    )
    ahead_s: float = parameter(
        5.0, unit="s", source="chosen: what streams allow a sender's clock to be ahead"
    )


DEFAULT: Final = TrafficParameters()
