"""Source weights: one host counts for no more than a few others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from localizer.baselines.source_weights import DEFAULT, bounded


def counts(sent: list[int], lost: list[int]) -> dict[str, np.ndarray]:
    said = {"sent": sent, "lost": lost, "refused": [0] * len(sent)}
    return {name: np.array(each, np.uint32) for name, each in said.items()}


@given(st.lists(st.integers(1, 3), min_size=8, max_size=40))
def test_counts_of_hosts_that_are_alike_stay_the_very_same(sent: list[int]) -> None:
    source = (np.arange(len(sent)) % 8).astype(np.int32)
    said = counts(sent, [0] * len(sent))
    if max(np.bincount(source, sent)) <= DEFAULT.most_host * np.median(np.bincount(source, sent)):
        assert bounded(source, said) is said


@given(st.integers(10, 4_000_000), st.floats(0.0, 1.0), st.integers(1, 30))
def test_a_host_counts_for_no_more_than_a_few_others(sent: int, rate: float, panes: int) -> None:
    source = np.concatenate([np.repeat(np.arange(6), 10), np.full(panes, 6)]).astype(np.int32)
    lost = int(rate * sent)
    said = counts([1] * 60 + [sent] * panes, [0] * 60 + [lost] * panes)
    kept = bounded(source, said)
    mine = source == 6
    assert kept["sent"][mine].sum() <= DEFAULT.most_host * 10
    assert (kept["sent"][~mine] == 1).all()
    assert (kept["lost"] <= kept["sent"]).all()
    if rate in (0.0, 1.0):
        assert (kept["lost"][mine] == rate * kept["sent"][mine]).all()


def test_of_a_few_hosts_none_is_the_odd_one() -> None:
    source = np.array([0, 1, 2], np.int32)
    said = counts([1, 1, 1000], [0, 0, 0])
    assert bounded(source, said) is said
