"""Parameters of what counters and flow tables decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class HostEvidenceParameters:
    """damaged    frames that a port received damaged between two readings: fewer decide nothing
    dropped     packets that the host's side dropped, likewise
    flaps       times that a link went down between two readings: a port that is down in the second
                one and went down less often is dead, and does not flap
    marks       notifications or pauses of congestion, likewise
    reset_share  a counter that fell has wrapped if it would have risen by no more than this share
                of its range; else it was reset
    offloadable  packets of a datapath flow from which on it should be in the rnic's table
    hops        vSwitches and tables that a packet may cross until it is taken for lost
    walks       of packets through the tables of one host, at most
    rules       of one dump that are read
    held        documents that are remembered, of the incidents with the newest ones
    documents   of one incident, at most
    """

    damaged: int = parameter(3, unit="frames", source="chosen: one bit error in 30 s is no fault")
    dropped: int = parameter(10, unit="packets", source="chosen: a burst now and then is no fault")
    flaps: int = parameter(2, unit="1", source="chosen: a port that dies goes down once")
    marks: int = parameter(10, unit="packets", source="chosen: a burst now and then is no fault")
    reset_share: float = parameter(
        1 / 64, unit="1", source="chosen: a link of 100 Gb/s carries 2^26 frames in 5 s at least"
    )
    offloadable: int = parameter(
        10, unit="packets", source="chosen: Open vSwitch offloads after a flow's first packets"
    )
    hops: int = parameter(64, unit="hops", source="chosen: as Open vSwitch bounds resubmits of one")
    walks: int = parameter(2_000, unit="walks", source="chosen: 45 addresses with each other")
    rules: int = parameter(20_000, unit="flows", source="chosen: more than 100 kB hold")
    held: int = parameter(256, unit="documents", source="chosen: 25 MB of flow tables")
    documents: int = parameter(
        64, unit="documents", source="chosen: three of each kind from ten hosts"
    )


DEFAULT: Final = HostEvidenceParameters()
