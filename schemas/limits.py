"""Limits on one message, so that none exhausts its reader.

A reader checks them before it expands anything: one byte per row of a dictionary-encoded column can
stand for a text of a megabyte. A message or row over a limit becomes a dead letter that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one message, each with its unit and the reason for its value.

    A message over one of these is refused:

    message_bytes   payload [B]; a broker's default limit is 1 MB
    rows            records [count]; an agent sends at most 512 in a message
    least_bytes     smallest payload per row [B]: its send time alone takes 8
    expanded_bytes  all columns as plain values [B]; 65,536 rows of 1,000 B
    expanded_free   plain values [B] that a message of any size may expand to
    expanded_ratio  plain bytes per payload byte beyond that [1]: one index byte of a dictionary
                    stands for a name of 28 B and its offset of 4 B
    columns         columns of a header or schema, known or not [count]; a record has 45 and 9 more
    arrow_frames    IPC messages in one Arrow stream [count]; an agent sends 2
    json_commas     payload bytes per comma of a JSON array [B]; ``"sent":1,`` takes 9

    A row over one of these is rejected:

    name_bytes      every text but route and extra_stats [B]; a host name of DNS has 253
    text_bytes      route and extra_stats [B]
    line_bytes      a row of a text format [B]: 45 names and two texts at their limits
    brackets        opening brackets in a row [count]: deep nesting exhausts the stack
    commas          commas in a row of JSON [count]; the longest route (255 hops) needs 300
    hops            hops of a route [count]: a TTL is one byte

    Rows of a message after the first so many distinct values are rejected:

    sources         distinct source hosts [count]; a relay serves the containers of one host
    fabrics         distinct fabrics [count]: each costs a message of skh.windows a second
    seconds         distinct seconds of send time [count]: each costs a pane; an agent that was cut
                    off sends 512 records at a time, one a second at the slowest

    Limits of documents (JSON) and of skh.windows:

    heartbeat_bytes  a heartbeat [B]; an rnic takes 60
    document_bytes   a placement or maintenance document [B]; an endpoint takes 100
    incident_bytes   an incident [B]: what a broker takes in one message
    chunk_rows       rows of a chunk of skh.windows [count]; ours have 4,096
    chunks           chunks of a pane [count]: 16 M paths in a partition
    punctuation_bytes  body of a punctuation [B]; a host whose clock is off takes 30

    Limits of reports on bad rows:

    letters         dead letters of a message with one row each [count]; one more counts the rest
    excerpt_bytes   start of a bad row that its dead letter holds [B]
    """

    message_bytes: int = 16 * 1024 * 1024
    rows: int = 65_536
    least_bytes: int = 8
    expanded_bytes: int = 64 * 1024 * 1024
    expanded_free: int = 256 * 1024
    expanded_ratio: int = 32
    columns: int = 512
    arrow_frames: int = 1024
    json_commas: int = 6
    name_bytes: int = 4096
    text_bytes: int = 64 * 1024
    line_bytes: int = 512 * 1024
    brackets: int = 256
    commas: int = 4096
    hops: int = 255
    sources: int = 1024
    fabrics: int = 16
    seconds: int = 1024
    heartbeat_bytes: int = 64 * 1024
    document_bytes: int = 256 * 1024
    incident_bytes: int = 1024 * 1024
    chunk_rows: int = 16_384
    chunks: int = 4096
    punctuation_bytes: int = 1024 * 1024
    letters: int = 16
    excerpt_bytes: int = 4096

    def may_expand_to(self, message_bytes: int) -> int:
        """Plain values that a message of this size may expand to [B]."""
        allowed = self.expanded_free + self.expanded_ratio * message_bytes
        return min(self.expanded_bytes, allowed)


LIMITS: Final = Limits()
