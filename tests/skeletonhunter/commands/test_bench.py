"""``skeletonhunter bench``: what can be asked for can be measured."""

from __future__ import annotations

from evaluation.bench import stages
from skeletonhunter.commands.bench import LARGEST, MEASURES
from skeletonhunter.measures import store


def test_every_measurement_can_be_asked_for_by_name_and_no_other() -> None:
    assert MEASURES.keys() | LARGEST.keys() == stages.STAGES.keys() | store.STAGES.keys()
