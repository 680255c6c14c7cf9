"""Parameters of the source, with units and sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class PodParameters:
    """ended_after_s   a job without any pod for so long is over
    look_s          between two looks at what waits: pods without a known host, jobs without pods
    page            pods in one answer to a list
    watch_s         a watch is ended by the API server after so long, and begun again
    silent_s        a watch without a line for so long is broken: bookmarks come about each minute
    request_s       an answer to a list takes no longer
    connect_s       a connection is made within that time
    most_containers a job's size that is said by its pods is at most that
    most_endpoints  of a pod's annotation
    backoff_s       before the first repetition after a failure; then twice as long each time
    longest_backoff_s  the longest of these times
    """

    ended_after_s: float = parameter(
        600.0, unit="s", source="chosen: longer than operators take to replace all pods of a job"
    )
    look_s: float = parameter(
        10.0, unit="s", source="chosen: short beside the minutes in which a topology changes"
    )
    page: int = parameter(
        500, unit="count", source="Kubernetes API concepts: the page size of its own clients"
    )
    watch_s: int = parameter(
        300, unit="s", source="chosen: as client-go, which draws from 5 to 10 minutes"
    )
    silent_s: float = parameter(
        180.0, unit="s", source="chosen: three bookmarks, which API servers send each minute"
    )
    request_s: float = parameter(
        20.0, unit="s", source="chosen: many times what a page takes; a stop waits for it"
    )
    connect_s: float = parameter(
        10.0, unit="s", source="chosen: long beside a round trip, short beside silent_s"
    )
    most_containers: int = parameter(
        65_536, unit="count", source="chosen: beyond all jobs; tenants write annotations"
    )
    most_endpoints: int = parameter(
        128, unit="count", source="chosen: several per rnic of the largest hosts"
    )
    backoff_s: float = parameter(
        0.5, unit="s", source="chosen: a restart of an API server takes seconds"
    )
    longest_backoff_s: float = parameter(
        30.0, unit="s", source="chosen: as the longest backoff of client-go's reflector"
    )


DEFAULT: Final = PodParameters()
