"""Parameters of the comparison of a topology document with traceroutes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class TracedParameters:
    """When a difference between document and routes is a contradiction.

    level         probability that a document which is right has any link reported as stale
    least_traces  traceroutes that must show what the document does not have
    polarized     share of a tier's switches with links that no route shows, from which on the
                  switches' hashes are taken to be the reason
    """

    level: float = parameter(
        0.01, unit="1", source="chosen: pytest tests/controller/inventory/test_contradictions.py"
    )
    least_traces: int = parameter(
        2, unit="traceroutes",
        source="chosen: hops of one traceroute may be of two routes, when routes change meanwhile",
    )  # fmt: skip
    polarized: float = parameter(
        0.5, unit="1",
        source="chosen: cables go stale one by one; equal hashes repeat the same choice everywhere",
    )  # fmt: skip


DEFAULT: Final = TracedParameters()
