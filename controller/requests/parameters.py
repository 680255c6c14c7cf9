"""Parameters of requests, with units and sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class RequestParameters:
    """host_rate        packets a second that a host is asked for, by all open requests
    host_requests    open requests of a host
    fabric_rate      packets a second of all open requests of a fabric
    fabric_requests  open requests of a fabric
    answer_s         after the last turn of a request, until it expires
    late_s           after it has expired, until it is over without its agent's word
    pairs            of endpoints that one request on demand probes
    evidence_bytes   of evidence about incidents that is held for operators
    waiting          lines of answers that wait for a slow reader
    """

    host_rate: float = parameter(
        40.0, unit="packets/s", source="chosen: below the agents' own --request-rate of 50"
    )
    host_requests: int = parameter(
        6, unit="requests", source="chosen: below the 8 that an agent runs at once"
    )
    fabric_rate: float = parameter(
        2000.0, unit="packets/s", source="chosen: a tenth of what 2,048 rnics probe in a second"
    )
    fabric_requests: int = parameter(
        1024, unit="requests", source="chosen: seven incidents at once, at most 150 each"
    )
    answer_s: float = parameter(
        10.0, unit="s", source="chosen: an agent waits 10 s at most after a controller that failed"
    )
    late_s: float = parameter(
        5.0, unit="s", source="chosen: evidence comes a second after the end, through the broker"
    )
    pairs: int = parameter(8, unit="pairs", source="chosen: the rails of a host")
    evidence_bytes: int = parameter(
        16 * 1024 * 1024, unit="B", source="chosen: of some fifty incidents, at 2 KB a document"
    )
    waiting: int = parameter(
        2048, unit="lines", source="chosen: a minute of the most that a host is asked for"
    )


DEFAULT: Final = RequestParameters()
