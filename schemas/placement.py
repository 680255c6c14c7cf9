"""skh.placement: where a container runs and what for; compacted by container.

Only a ``ready`` container is judged: while it is starting, draining or gone, or for a host that it
has left, its probes say nothing about the network. One that no document names counts as ready.
A file of them (``diagnose --placement``) is NDJSON or a JSON array.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from schemas.ping import DEFAULT_FABRIC
from schemas.topology import Endpoint

State = Literal["starting", "ready", "draining", "gone"]


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """A container from ``valid_from`` on (RFC 3339 UTC), until the next document of its node_id."""

    node_id: str
    node_sn: str
    state: State
    valid_from: str
    fabric: str = DEFAULT_FABRIC
    job: str = ""
    tenant: str = ""
    endpoints: list[Endpoint] = []
