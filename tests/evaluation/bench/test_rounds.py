"""Probes in a round: counted in our lists, and smaller from phase to phase."""

from __future__ import annotations

from evaluation.bench.rounds import rounds
from testbed.workload import layouts


def test_each_phase_probes_less_than_the_one_before_and_the_skeleton_exactly_its_pairs() -> None:
    full, rail, preload, dense, experts, inferred = rounds(512)
    assert full.probes > rail.probes > preload.probes > experts.probes > dense.probes
    assert dense.probes < inferred.probes < preload.probes
    for found, ep in ((dense, 1), (experts, 8)):
        pairs = layouts.pairs(layouts.fit(64, 8, pp=8, ep=ep))
        assert found.probes == 8 * len(pairs), "in both directions, on each rail"
        assert found.host_pairs == len(pairs) / 2


def test_the_published_rounds_take_about_a_second_a_target() -> None:
    full, rail, *_ = rounds(512)
    for found in (full, rail):
        assert found.published is not None
        assert 0.9 < found.published / found.targets < 1.15
