"""Samples -> Prometheus' text format, without its client library: the agent stays small."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.metrics import Metric, Sample

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def render(samples: Iterable[Sample]) -> bytes:
    """The exposition format 0.0.4; the samples of a metric are grouped."""
    families: dict[Metric, list[str]] = {}
    for metric, value, labels in samples:
        pairs = ",".join(
            f'{name}="{_escaped(text)}"' for name, text in zip(metric.labels, labels, strict=True)
        )
        number = repr(float(value)) if value != int(value) else str(int(value))
        families.setdefault(metric, []).append(
            f"{metric.name}{{{pairs}}} {number}" if pairs else f"{metric.name} {number}"
        )
    lines: list[str] = []
    for metric, rows in families.items():
        lines += [
            f"# HELP {metric.name} {metric.doc}",
            f"# TYPE {metric.name} {metric.type}",
            *rows,
        ]
    return ("\n".join(lines) + "\n").encode(errors="replace")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
