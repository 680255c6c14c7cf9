"""Parameters of confidence and of issue types; the catalogue itself is in ``issue_types``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter

_RESULTS: Final = "measured: docs/scorecard/results.jsonl, verdicts of the default strategy"
_TYPES: Final = "chosen: make scorecard (issue types named)"


@dataclass(frozen=True, slots=True)
class ExplanationParameters:
    """How sure a verdict is, when its issue type is stated, and how much a document lists.

    owns          share of a path's traversals from which on a culprit explains the whole path
    untried       verdicts that a kind without experience counts as, all right
    unweighed     probability that a class is right if the strategy does not weigh it
    belief        what the catalogue's weights are worth beside counted verdicts
    much_later    paths between rnics of one host are hit by themselves if they are so many times as
                  late as those that leave it: what slows the whole host slows them once, or once at
                  each end
    slow_path_us  added latency from which traffic looks as if it went through a kernel
    otherwise     odds that a type shows as loss where the catalogue says unconnectivity, or the
                  reverse: a flapping component lets nothing through for seconds
    least_weighed classes that a window gives less than this count as so probable: one window may
                  be all noise
    windows_kept  windows of an incident that are kept apart, to be replaced by longer ones
    stated        a type is stated if it is more probable than this,
    clearly       and so many times as probable as the next one
    named         types that a document names, the likeliest ones
    hosts_named   hosts that the document of a scope outage names
    anomalies     bad paths that are published with each incident document
    severe_loss   share of lost probes from which loss of a job's traffic is P0
    """

    owns: float = parameter(0.5, unit="1", source="chosen: make scorecard (culprits per fault)")
    untried: int = parameter(5, unit="verdicts", source="chosen: a Jeffreys cap of 0.92")
    unweighed: float = parameter(0.7, unit="1", source=_RESULTS)
    belief: float = parameter(20.0, unit="verdicts", source=_RESULTS)
    much_later: float = parameter(
        2.6, unit="1", source="chosen: between 2 (slow at each end) and 3.3 (the ring inside)"
    )
    slow_path_us: float = parameter(35.0, unit="us", source=_TYPES)
    otherwise: float = parameter(0.2, unit="1", source=_TYPES)
    least_weighed: float = parameter(
        0.01, unit="1", source="chosen: verdicts list no alternative below that"
    )
    windows_kept: int = parameter(32, unit="windows", source="chosen: more than 6 of 5 s in 30 s")
    stated: float = parameter(0.5, unit="1", source=_TYPES)
    clearly: float = parameter(2.0, unit="1", source=_TYPES)
    named: int = parameter(4, unit="types", source="chosen: what fits a document")
    hosts_named: int = parameter(20, unit="hosts", source="chosen: what fits a document")
    anomalies: int = parameter(200, unit="paths", source="chosen: examples, not all bad paths")
    severe_loss: float = parameter(
        0.05, unit="1", source="chosen: the scorecard counts loss from 5 % on apart"
    )


DEFAULT: Final = ExplanationParameters()
