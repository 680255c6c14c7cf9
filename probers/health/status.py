"""What the loop's thread leaves once a second for the health server's thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic_ns

from probers.ping_list.controller import Ready
from probers.ping_list.document import JobRnics
from schemas.metrics import Sample


@dataclass(slots=True)
class AgentStatus:
    """Written by the loop's thread, read by others; each field is replaced as a whole.

    stopped_why  why the agent does not probe at present; None: it does
    ready        what the agent serves, as it registers with the controller
    job_rnics    whose throughput is measured
    samples      the loop's counters at its last tick, where there is a health server
    tick_ns      when that was [monotonic ns]
    """

    stopped_why: str | None = "no ping list has been read yet"
    ready: Ready = field(default_factory=Ready)
    job_rnics: JobRnics = field(default_factory=JobRnics)
    samples: tuple[Sample, ...] = ()
    tick_ns: int = field(default_factory=monotonic_ns)
