"""Requests as they come from a controller or from the host's agent: those that can be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from probers.process.log import log_event
from schemas.documents.requests import request
from schemas.documents.requests.request import Request

MOST: Final = 64  # open requests of a host


def usable(found: Sequence[msgspec.Raw], counts: Counter[str] | None = None) -> list[Request]:
    """The first ``MOST`` of them, without those that are no requests: these are logged, and counted
    as ``invalid``."""
    out = []
    for raw in found[:MOST]:
        try:
            out.append(request.parse(bytes(raw)))
        except ValueError as why:
            if counts is not None:
                counts["invalid"] += 1
            log_event("warning", "request-invalid", why=str(why))
    return out
