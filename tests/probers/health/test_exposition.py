"""The text format is the one that Prometheus reads."""

from __future__ import annotations

import pytest

from probers.health import exposition
from schemas.metrics import Metric, Sample


def test_the_exposition_is_read_back_by_prometheus_own_parser() -> None:
    pytest.importorskip("prometheus_client")
    from prometheus_client.parser import text_string_to_metric_families

    metric = Metric("skh_x_total", "counter", "What it means", ("why",))
    gauge = Metric("skh_y", "gauge", "A gauge")
    text = exposition.render(
        [Sample(metric, 3, ('a "b" \\ c\nd',)), Sample(gauge, 0.25), Sample(metric, 4, ("e",))]
    ).decode()
    read = {family.name: family for family in text_string_to_metric_families(text)}
    assert [(s.labels, s.value) for s in read["skh_x"].samples] == [
        ({"why": 'a "b" \\ c\nd'}, 3.0), ({"why": "e"}, 4.0),
    ]  # fmt: skip
    assert read["skh_y"].samples[0].value == 0.25
    assert read["skh_x"].documentation == "What it means"
