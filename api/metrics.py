"""Samples of the process -> Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from schemas.metrics import Sample, Source


class _Samples(Collector):
    """Calls every source at each scrape; samples of one metric are one family."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    def collect(self) -> Iterable[Metric]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for sample in self._all():
            metric = sample.metric
            kind = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
            if metric.name not in families:
                families[metric.name] = kind(metric.name, metric.doc, labels=metric.labels)
            families[metric.name].add_metric(list(sample.labels), sample.value)
        return families.values()

    def _all(self) -> Iterator[Sample]:
        for source in self._sources:
            yield from source()


def render(sources: Sequence[Source]) -> bytes:
    """All samples of the sources in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Samples(sources))
    return generate_latest(registry)
