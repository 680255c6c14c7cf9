"""What the evidence of a verdict says in words."""

from __future__ import annotations

import pytest

from localizer.explanation.explain import effect


@pytest.mark.parametrize(
    ("symptom", "size", "text"),
    [
        ("unconnectivity", 1.0, "lets nothing through: 100.0 % lost"),
        ("unconnectivity", 0.97, "lets nothing through: 97.0 % lost"),
        ("unconnectivity", 0.536, "lets nothing of some five-tuples through: 53.6 % lost"),
        ("loss", 0.536, "loses probes: 53.6 % lost"),
        ("high_latency", 3.0, "adds latency: +3.0 us"),
    ],
)
def test_how_strong_a_fault_is(symptom: str, size: float, text: str) -> None:
    assert effect(symptom, size) == text
