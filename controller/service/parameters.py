"""Parameters of the service, with units and sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class ServiceParameters:
    """register_every_s  an agent registers again after so long
    longest_wait_s    a request for a list is answered after so long, changed or not
    settle_s          a waiting agent gets changes of so long together
    look_s            between two looks whether a skeleton is due
    cover_s           between two looks whether lists have changed and are to be counted
    cover_nice        priority of the process that counts
    body_bytes        largest body of a request
    token_bytes       random bytes of a token
    tokens_bytes      largest file of tokens
    """

    register_every_s: float = parameter(
        30.0, unit="s", source="chosen: 2,048 agents make 70 registrations a second"
    )
    longest_wait_s: float = parameter(
        60.0, unit="s", source="chosen: proxies close requests without an answer after 60 s"
    )
    settle_s: float = parameter(
        0.1, unit="s", source="chosen: a tenth of the goal of 1 s from an event to the agents"
    )
    look_s: float = parameter(
        1.0, unit="s", source="chosen: samples of throughput are of one second"
    )
    cover_s: float = parameter(
        60.0, unit="s", source="chosen: of 16,384 rnics a count takes 20 s of a core"
    )
    cover_nice: int = parameter(
        10, unit="nice", source="chosen: a tenth of a busy core; requests come first"
    )
    body_bytes: int = parameter(
        4 * 1024 * 1024, unit="B", source="chosen: 4,096 containers of 8 endpoints, at 100 B each"
    )
    token_bytes: int = parameter(
        32, unit="B", source="chosen: as long as its hash, which can then not be tried out"
    )
    tokens_bytes: int = parameter(
        64 * 1024 * 1024, unit="B", source="chosen: 500,000 hosts, at some 100 B each"
    )


DEFAULT: Final = ServiceParameters()
