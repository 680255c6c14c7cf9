"""Every metric of the system: name, type and help text; a module for each process.

Packages count in plain numbers and return Samples; only ``api`` and the agent's health pages write
Prometheus' format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple


class Metric(NamedTuple):
    """A name with its help text. Counters end in ``_total`` and never fall while a process runs."""

    name: str
    type: Literal["counter", "gauge"]
    doc: str
    labels: tuple[str, ...] = ()


class Sample(NamedTuple):
    """The value of a metric now; ``labels`` are label values in the order of ``metric.labels``."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


#: Called at each scrape, on the api's threads.
Source = Callable[[], Iterable[Sample]]
