"""One contradiction between a topology document and traceroutes, and its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from controller.inventory.traced.routes import Evidence

Kind = Literal[
    "swapped ports", "rnic elsewhere", "unlisted link", "stale cable", "stale switch",
    "unknown switch", "unknown rnic",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One difference.

    subject      what the document has or lacks: switches and rnics by name
    text         the sentence for people, with what to do
    traces       traceroutes that show it; of a stale cable those that had to cross it, by
                 expectation [five-tuples]
    probability  that a document which is right looks like this; None where a route shows it
    example      one of the traceroutes
    """

    kind: Kind
    subject: list[str]
    text: str
    traces: int
    probability: float | None = None
    example: str = ""


def shown(evidence: Evidence) -> str:
    """How many traceroutes of how many five-tuples."""
    traces, five_tuples = evidence.traces, len(evidence.five_tuples)
    return (
        f"{traces} traceroute{'s' if traces > 1 else ''} of {five_tuples} "
        f"five-tuple{'s' if five_tuples > 1 else ''}"
    )
