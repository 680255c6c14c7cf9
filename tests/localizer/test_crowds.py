"""Against whom a path is compared: the other paths of its own job."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from localizer.baselines import peer_groups
from localizer.fabric.incidence.factored import FactoredIncidence

#  hosts 0..5 form one job, 6..11 another; every host probes the others of its job
PAIRS = [(a, b) for job in (range(6), range(6, 12)) for a in job for b in job if a != b]
SRC, DST = np.array(PAIRS, np.int32).T
OVERLAY = np.ones(len(PAIRS), bool)
CROWD = peer_groups.of(SRC, DST, OVERLAY)
HOSTS = FactoredIncidence.unfactored(
    sparse.csr_array(
        ((SRC[:, None] == np.arange(12)) | (DST[:, None] == np.arange(12))).astype(float)
    )
)
VOTE = np.ones(len(PAIRS))


def test_hosts_whose_containers_probe_one_another_form_a_crowd() -> None:
    assert np.unique(CROWD[SRC < 6]).size == 1
    assert np.unique(CROWD).size == 2


def test_the_underlay_does_not_join_jobs() -> None:
    src, dst = np.append(SRC, 0), np.append(DST, 11)
    crowd = peer_groups.of(src.astype(np.int32), dst.astype(np.int32), np.append(OVERLAY, False))
    assert np.unique(crowd).size == 3
    assert (crowd[:-1] != crowd[-1]).all(), "what lies between jobs is apart"


def test_without_an_overlay_all_probes_count() -> None:
    assert np.unique(peer_groups.of(SRC, DST, ~OVERLAY)).size == 2


def test_a_host_slower_than_the_rest_of_its_job_stands_out() -> None:
    p = peer_groups.tail(HOSTS, CROWD, VOTE, (SRC == 3) | (DST == 3))
    assert p[3] < 1e-9
    assert p[[0, 1, 2, 4, 5]].min() > 1e-3
    assert (p[6:] == 1.0).all()


def test_where_healthy_paths_keep_still_fewer_moves_tell() -> None:
    moved = (SRC == 3) & (DST < 3)
    restless, still = (
        peer_groups.tail(HOSTS, CROWD, VOTE, moved, quietest=q)[3] for q in (0.02, 0.005)
    )
    assert still < restless / 20


def test_a_job_that_is_slow_as_a_whole_makes_nobody_stand_out() -> None:
    p = peer_groups.tail(HOSTS, CROWD, VOTE, SRC < 6)
    assert p.min() > 0.5


def test_a_component_that_all_paths_of_a_job_cross_cannot_be_told_from_the_job() -> None:
    everything = (SRC < 6).astype(float)
    assert peer_groups.tail_of(everything, CROWD, VOTE, SRC < 6) == 1.0


def test_nothing_moved_is_no_surprise() -> None:
    assert (peer_groups.tail(HOSTS, CROWD, VOTE, np.zeros(len(PAIRS), bool)) == 1.0).all()


def test_what_a_whole_job_has_in_common_is_taken_off() -> None:
    excess = np.where(SRC < 6, 8.0, 0.0) + np.where(SRC == 3, 5.0, 0.0)
    apart = peer_groups.apart(excess, CROWD, np.ones(len(PAIRS), bool))
    assert apart[SRC == 3] == pytest.approx(5.0)
    assert apart[SRC != 3] == pytest.approx(0.0)


def test_nobody_is_late_because_others_are_early() -> None:
    excess = np.where(SRC == 3, 0.0, -4.0)
    assert (peer_groups.apart(excess, CROWD, np.ones(len(PAIRS), bool)) == excess).all()


@pytest.mark.parametrize("seed", range(5))
def test_all_components_at_once_are_what_each_is_by_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.integers(0, 3, (5, 20)) / 4.0  # five segments, of which each path has two
    shares[0] = 0.0
    segments = sparse.csr_array(shares)
    slots = rng.integers(0, 5, (2, len(PAIRS)), dtype=np.int32)
    factored = FactoredIncidence(slots, segments, segments)
    vote, moved = rng.integers(0, 3, len(PAIRS)) / 2.0, rng.random(len(PAIRS)) < 0.3
    p = peer_groups.tail(factored, CROWD, vote, moved)
    one = [peer_groups.tail_of(factored.column(c), CROWD, vote, moved) for c in range(20)]
    assert p == pytest.approx(one)
    assert p.min() < 0.9
