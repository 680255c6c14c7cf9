"""Limits on one message, so that none exhausts its reader.

A reader checks them before it expands anything: one byte per row of a dictionary-encoded column can
stand for a text of a megabyte. A message or row over a limit becomes a dead letter that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one message.

    A message over one of these is refused:

    message_bytes   payload
    header_bytes    of a header that is read; the rest is ignored
    rows            records
    least_bytes     smallest payload per row
    expanded_bytes  all columns as plain values
    expanded_free   plain values that a message of any size may expand to
    expanded_ratio  plain bytes per payload byte beyond that
    columns         columns of a header or schema, known or not
    arrow_frames    IPC messages in one Arrow stream
    json_commas     payload bytes per comma of a JSON array

    A row over one of these is rejected:

    name_bytes      every text but route and extra_stats
    text_bytes      route and extra_stats
    line_bytes      a row of a text format
    brackets        opening brackets in a row
    commas          commas in a row of JSON
    hops            hops of a route

    Rows of a message after the first so many distinct values are rejected:

    sources         distinct source hosts
    fabrics         distinct fabrics
    seconds         distinct seconds of send time

    Limits of documents (JSON) and of skh.windows:

    heartbeat_bytes    a heartbeat
    document_bytes     a placement, maintenance, request or evidence document
    topology_bytes     a topology document
    incident_bytes     an incident, or the skeleton of a job
    chunk_rows         rows of a chunk of skh.windows
    chunks             chunks of a pane
    punctuation_bytes  body of a punctuation

    Limits of a request to an agent:

    request_five_tuples    of all targets
    request_count          times that each is probed
    request_interval_s     shortest time between two probes of a five-tuple
    request_s              from when it is asked until it expires
    request_trace_packets  that a traceroute counts for

    Limits of reports on bad rows:

    letters         dead letters of a message with one row each; one more counts the rest
    excerpt_bytes   start of a bad row that its dead letter holds
    """

    message_bytes: int = parameter(
        16 * 1024 * 1024, unit="B", source="chosen: a broker's default limit is 1 MB"
    )
    header_bytes: int = parameter(4096, unit="B", source="chosen: as many as of a name")
    rows: int = parameter(
        65_536, unit="records", source="chosen: an agent sends at most 512 in a message"
    )
    least_bytes: int = parameter(
        8, unit="B/record", source="chosen: the send time of a record alone takes 8 B"
    )
    expanded_bytes: int = parameter(
        64 * 1024 * 1024, unit="B", source="chosen: 65,536 rows of 1,000 B"
    )
    expanded_free: int = parameter(
        256 * 1024, unit="B", source="chosen: small messages may repeat names"
    )
    expanded_ratio: int = parameter(
        32, unit="1",
        source="chosen: one index byte of a dictionary stands for a name of 28 B and its offset "
        "of 4 B",
    )  # fmt: skip
    columns: int = parameter(512, unit="columns", source="chosen: a record has 45 and 9 more")
    arrow_frames: int = parameter(1024, unit="frames", source="chosen: an agent sends 2")
    json_commas: int = parameter(6, unit="B/comma", source='chosen: "sent":1, takes 9 B')
    name_bytes: int = parameter(4096, unit="B", source="chosen: a host name of DNS has 253 B")
    text_bytes: int = parameter(
        64 * 1024, unit="B",
        source="chosen: bounds route and extra_stats, far above the longest route",
    )  # fmt: skip
    line_bytes: int = parameter(
        512 * 1024, unit="B", source="chosen: 45 names and two texts at their limits"
    )
    brackets: int = parameter(
        256, unit="brackets", source="chosen: deep nesting exhausts the stack"
    )
    commas: int = parameter(
        4096, unit="commas", source="chosen: the longest route (255 hops) needs 300"
    )
    hops: int = parameter(255, unit="hops", source="chosen: a TTL is one byte")
    sources: int = parameter(
        1024, unit="hosts", source="chosen: a relay serves the containers of one host"
    )
    fabrics: int = parameter(
        16, unit="fabrics", source="chosen: each costs a message of skh.windows a second"
    )
    seconds: int = parameter(
        1024, unit="s",
        source="chosen: each costs a pane; an agent that was cut off sends 512 records at a "
        "time, one a second at the slowest",
    )  # fmt: skip
    heartbeat_bytes: int = parameter(64 * 1024, unit="B", source="chosen: an rnic takes 60 B")
    document_bytes: int = parameter(256 * 1024, unit="B", source="chosen: an endpoint takes 100 B")
    topology_bytes: int = parameter(
        16 * 1024 * 1024, unit="B", source="chosen: 100,000 rnics, at 70 B, and their links"
    )
    incident_bytes: int = parameter(
        1024 * 1024, unit="B", source="chosen: what a broker takes in one message"
    )
    chunk_rows: int = parameter(
        16_384, unit="rows", source="chosen: chunks of SkeletonHunter have 4,096"
    )
    chunks: int = parameter(4096, unit="chunks", source="chosen: 16 M paths in a partition")
    punctuation_bytes: int = parameter(
        1024 * 1024, unit="B", source="chosen: a host whose clock is off takes 30 B"
    )
    request_five_tuples: int = parameter(
        128, unit="five-tuples", source="chosen: what a host's caps let it probe twice a second"
    )
    request_count: int = parameter(
        1000, unit="probes", source="chosen: a quarter of an hour at one a second"
    )
    request_interval_s: float = parameter(
        0.05, unit="s", source="chosen: the grid of the agents' schedule"
    )
    request_s: float = parameter(900.0, unit="s", source="chosen: a request must end by itself")
    request_trace_packets: int = parameter(
        6, unit="packets", source="chosen: hops of a route between pods, and the destination"
    )
    letters: int = parameter(
        16, unit="messages", source="chosen: a message of bad rows must not multiply"
    )
    excerpt_bytes: int = parameter(
        4096, unit="B", source="chosen: enough to find the row at its sender"
    )

    def may_expand_to(self, message_bytes: int) -> int:
        """Plain values that a message of this size may expand to [B]."""
        allowed = self.expanded_free + self.expanded_ratio * message_bytes
        return min(self.expanded_bytes, allowed)


LIMITS: Final = Limits()
