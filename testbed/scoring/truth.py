"""truth.json: the faults that were injected, with their times."""

from __future__ import annotations

from pathlib import Path

import msgspec

#: Symptoms of hosts and agents, which are scored only among themselves.
NOT_NETWORK = frozenset({"agent_down", "agent_starved", "host_down", "clock_skewed"})


class TruthError(ValueError):
    """truth.json cannot be read."""


class Truth(msgspec.Struct, frozen=True):
    """One injected fault; times RFC 3339 UTC, ``end`` null while it lasts.

    magnitude  share lost (loss), added round trip [us] (latency), clock offset [s] (clock_skewed)
    """

    fabric: str
    component: str
    issue_type: str | None
    symptom: str
    layer: str
    direction: str
    start: str
    end: str | None
    magnitude: float


def encode(truths: list[Truth]) -> bytes:
    """The JSON array."""
    return msgspec.json.format(msgspec.json.encode(truths), indent=2)


def load(path: Path) -> list[Truth]:
    """Read truth.json; raises TruthError with one line."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Truth])
    except OSError as why:
        raise TruthError(f"{path}: {why.strerror}; give a directory that simulate wrote") from why
    except msgspec.MsgspecError as why:
        raise TruthError(f"{path}: {why}") from why
