"""skh.coverage: what the judged probes of a fabric cross of its topology, once a minute."""

from __future__ import annotations

import msgspec

from schemas.documents.decoding import decode
from schemas.documents.times import seconds_of


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """The coverage of a fabric. Compacted by fabric.

    at               second up to which probes are judged (RFC 3339, event time)
    paths            five-tuple paths that are remembered [count]
    components       rnics, switches, links, vSwitches and containers of the topology [count]
    uncovered        of them, crossed by no judged probe [count]
    untraced         links between switches that only probes of unknown routes may cross [count]
    uncovered_names  the first of them by name, and so of the untraced links
    """

    fabric: str
    at: str
    paths: int
    components: int
    uncovered: int
    untraced: int
    uncovered_names: list[str]
    untraced_names: list[str]

    def __post_init__(self) -> None:
        seconds_of(self.at)


def encode(document: Coverage) -> bytes:
    """A document as JSON."""
    return msgspec.json.encode(document)


def parse(raw: bytes) -> Coverage:
    """Decode one document; raises DocumentError (a ValueError) of one line."""
    return decode(raw, Coverage)
