"""What an agent does for requests at most, whatever a controller asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """rate            packets a second of all requests together, replies left out; 0: none
    at_once         requests that run
    five_tuples     of all running requests, each of which may need a socket
    longest_s       of one request, also by the monotonic clock [s]
    remembered      ids of requests that were taken, until they expire
    results         in one document of evidence
    devices, values  in one reading of counters
    command_s       for the command of the flow table [s]
    output_bytes    of what it prints [B]
    """

    rate: float = 50.0
    at_once: int = 8
    five_tuples: int = 128
    longest_s: float = 900.0
    remembered: int = 1024
    results: int = 400
    devices: int = 64
    values: int = 2048
    command_s: float = 5.0
    output_bytes: int = 100 * 1024


DEFAULT: Final = RequestLimits()
