"""Parameters of the feedback loop, with units and sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class FeedbackParameters:
    """Of a round:

    lasts_s         probing takes so long
    interval_s      between two probes of a five-tuple
    five_tuples     new ones, of all hosts
    host_tuples     new ones, of a host
    wanted          five-tuples in expectation that cross one of two members and not the other
    least_gain      of a further five-tuple, in expected splits
    members         of a tie set that are told apart, its first ones
    looked_at       endpoints of a class, of which the least used one is taken
    classes         of endpoints that are alike for a tie set
    traced          five-tuples of the lists whose routes are traced anew
    trace_s         traceroutes of a request are spread over so long
    counted_hosts   whose counters are read, at most; of more the trouble is in the network
    counters_s      between the two readings
    table_readings, tables_s  of the flow tables of a host in question, and between two of them
    peers           further hosts whose flow tables are read once

    Of an incident:

    rounds, packets  at most
    settle_s        after a round, until its evidence counts and the next one may begin
    look_again_s    after there was nothing to ask, while its tie set is the same
    kept_s          after its last request what it has spent is known

    Of a fabric:

    hour_packets    in any 3,600 s
    """

    lasts_s: float = parameter(60.0, unit="s", source="chosen: twice the localizer's window")
    interval_s: float = parameter(
        0.5, unit="s", source="chosen: answers are judged together from four in a window on"
    )
    five_tuples: int = parameter(
        48, unit="five-tuples", source="chosen: six splits of each of eight pairs of members"
    )
    host_tuples: int = parameter(
        8, unit="five-tuples", source="chosen: 16 probes/s beside traceroutes, of 40 allowed"
    )
    wanted: float = parameter(
        6.0, unit="five-tuples", source="chosen: with 6 expected there is none with P = 0.0025"
    )
    least_gain: float = parameter(
        0.01, unit="splits", source="chosen: below it 48 five-tuples split nothing"
    )
    members: int = parameter(8, unit="components", source="chosen: 28 pairs to tell apart")
    looked_at: int = parameter(16, unit="endpoints", source="chosen: 16 hosts share a round")
    classes: int = parameter(40, unit="classes", source="chosen: 820 pairs of them, in a second")
    traced: int = parameter(48, unit="five-tuples", source="chosen: as many as are new")
    trace_s: float = parameter(
        10.0, unit="s", source="chosen: routes count for most of the round, at 5 packets/s"
    )
    counted_hosts: int = parameter(
        4, unit="hosts", source="chosen: a tie set inside hosts names the two ends of a cable"
    )
    counters_s: float = parameter(30.0, unit="s", source="chosen: half of a round")
    table_readings: int = parameter(
        4,
        unit="readings",
        source="chosen: a flow that is in and out for 3 s each is seen both ways",
    )
    tables_s: float = parameter(5.0, unit="s", source="chosen: no multiple of such a period")
    peers: int = parameter(4, unit="hosts", source="chosen: 100 kB of each are a few documents")
    rounds: int = parameter(3, unit="rounds", source="chosen: what three do not split stays")
    packets: int = parameter(
        20_000, unit="packets", source="chosen: three rounds of 48 five-tuples"
    )
    settle_s: float = parameter(
        30.0, unit="s", source="chosen: a window of the localizer, which must be full of it"
    )
    look_again_s: float = parameter(
        900.0, unit="s", source="chosen: endpoints that register later may split it"
    )
    kept_s: float = parameter(
        3600.0, unit="s", source="chosen: an incident that reopens has the same id"
    )
    hour_packets: int = parameter(
        200_000, unit="packets", source="chosen: ten incidents an hour that spend all"
    )


DEFAULT: Final = FeedbackParameters()
