"""A switch is not to blame for what a few of its links lose."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from localizer.evidence import Attribution, Evidence
from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.observability import Classes
from localizer.verdicts.parameters import ContainmentParameters
from localizer.verdicts.rules.loss.containment import Containment, loss_of_ends, of_a_few

LINKS = 8
EACH = 4  # paths of a link
PARAMETERS = ContainmentParameters()


def fabric() -> Classes:
    """One switch; each path crosses it and one of its links; one path more crosses neither."""
    paths = LINKS * EACH + 1
    shares = np.zeros((paths, LINKS + 1))
    shares[:-1, 0] = 1.0
    for link in range(LINKS):
        shares[link * EACH : (link + 1) * EACH, 1 + link] = 1.0
    members = [["agg:a"], *([f"link:agg:a|tor:t{link}"] for link in range(LINKS))]
    directed = np.array([False, *([True] * LINKS)])
    factored = FactoredIncidence.unfactored(sparse.csr_array(shares))
    return Classes(members, directed, np.zeros(LINKS + 1, bool), factored)


def evidence(groups: Classes, lost: np.ndarray) -> Evidence:
    paths = groups.paths
    return Evidence(
        groups, np.full(paths, 20), lost, np.zeros(paths), np.ones(paths), lost > 0,
        np.arange(paths, dtype=np.int32), np.zeros(paths, bool), 1e-4,
    )  # fmt: skip


def refuted(lost_of_link: dict[int, int]) -> bool:
    groups = fabric()
    lost = np.zeros(groups.paths, np.int64)
    for link, count in lost_of_link.items():
        lost[link * EACH : (link + 1) * EACH] = count
    blamed = [Attribution(0, float(lost.sum()) / (20 * LINKS * EACH), 1e-9)]
    inside = Containment(groups, np.ones(groups.paths, bool))
    return bool(of_a_few(inside, evidence(groups, lost), blamed, PARAMETERS)[0])


def untraced_and_lossy(certain_lost: int) -> bool:
    """Whether a switch is refuted whose traced paths, one a link, lose by two links alone, beside
    untraced ones that lose by any: of the other traced paths each loses so many."""
    paths = LINKS + 64
    shares = np.zeros((paths, LINKS + 1))
    shares[:, 0] = 1.0
    shares[:LINKS, 1:] = np.eye(LINKS)
    shares[LINKS:, 1:] = 1 / LINKS
    members = [["agg:a"], *([f"link:agg:a|tor:t{link}"] for link in range(LINKS))]
    factored = FactoredIncidence.unfactored(sparse.csr_array(shares))
    groups = Classes(
        members, np.array([False, *([True] * LINKS)]), np.zeros(LINKS + 1, bool), factored
    )
    lost = np.full(paths, 5)
    lost[:2], lost[2:LINKS] = 15, certain_lost
    blamed = [Attribution(0, 0.25, 1e-9)]
    inside = Containment(groups, np.ones(paths, bool))
    return bool(of_a_few(inside, evidence(groups, lost), blamed, PARAMETERS)[0])


def test_traced_paths_that_lose_nothing_count_more_than_untraced_ones_that_lose() -> None:
    assert untraced_and_lossy(certain_lost=0)
    assert not untraced_and_lossy(certain_lost=5)


def test_two_lossy_links_of_eight_are_not_their_switch() -> None:
    assert refuted({2: 10, 5: 4})


def test_a_switch_all_of_whose_links_lose_is_blamed() -> None:
    assert not refuted(dict.fromkeys(range(LINKS), 1))


def test_a_switch_most_of_whose_links_lose_is_blamed() -> None:
    assert not refuted(dict.fromkeys(range(6), 2))


def refuted_share(rnics: int, lost: int, draws: int = 300) -> float:
    """How often a ToR is refuted of whose rnics so many lose alike, so many probes in all."""
    switch = fabric()
    members = [["tor:t"], *([f"rnic:r{n}", f"link:rnic:r{n}|tor:t"] for n in range(LINKS))]
    no = np.zeros(LINKS + 1, bool)
    groups = Classes(members, no, no, switch.factored)
    inside, rng = Containment(groups, np.ones(groups.paths, bool)), np.random.default_rng(1)
    found = 0
    for _ in range(draws):
        on = np.bincount(rng.integers(0, rnics * EACH, lost), minlength=groups.paths)
        blamed = [Attribution(0, lost / (20 * LINKS * EACH), 1e-9)]
        found += bool(of_a_few(inside, evidence(groups, on), blamed, PARAMETERS)[0])
    return found / draws


def test_the_luck_of_a_lossy_tor_does_not_make_its_worst_rnics_the_culprits() -> None:
    """They are the worst of many that might have been."""
    assert refuted_share(LINKS, 5) < 0.4
    assert refuted_share(LINKS, 20) < 0.05
    assert min(refuted_share(2, lost) for lost in (5, 10, 20)) > 0.95


def test_classes_inside_a_switch_are_its_links_and_none_are_inside_a_link() -> None:
    groups = fabric()
    containment = Containment(groups, np.ones(groups.paths, bool))
    assert containment.inside(0).tolist() == list(range(1, LINKS + 1))
    assert containment.names(0) == {name for [name] in groups.members[1:]}
    assert containment.names(1) == frozenset()


def test_classes_that_no_live_path_crosses_are_inside_nothing() -> None:
    groups = fabric()
    live = np.ones(groups.paths, bool)
    live[:EACH] = False
    assert 1 not in Containment(groups, live).inside(0)


def test_a_link_is_compared_with_what_else_its_switch_loses() -> None:
    groups = fabric()
    sent, lost = np.full(groups.paths, 20), np.zeros(groups.paths, np.int64)
    lost[:EACH] = 2
    (rate,) = loss_of_ends(groups, 3, sent, lost)  # tor:t2, its other end, is no class here
    assert rate == 2 * EACH / (20 * LINKS * EACH)


def test_a_link_whose_switch_has_no_other_probes_is_compared_with_nothing() -> None:
    groups = fabric()
    nothing = np.zeros(groups.paths, np.int64)
    assert loss_of_ends(groups, 3, nothing, nothing) == []


def test_no_spine_contains_the_links_of_another_one_though_each_answer_may_cross_both() -> None:
    """Two spines of two links; each path crosses a link for certain by its request, and any link
    by its answer, which is not traced."""
    members = [["spine:s"], ["spine:t"], *([f"link:spine:{s}|tor:{t}"] for s in "st" for t in "ab")]
    forward = np.zeros((4, 6))
    for path in range(4):
        forward[path, [path // 2, 2 + path]] = 1.0
    reverse = np.tile([0.5, 0.5, *[0.25] * 4], (4, 1))
    factored = FactoredIncidence.unfactored(sparse.csr_array(forward), sparse.csr_array(reverse))
    directed = np.array([False, False, *[True] * 4])
    groups = Classes(members, directed, np.zeros(6, bool), factored)
    containment = Containment(groups, np.ones(4, bool))
    assert containment.inside(0).tolist() == [2, 3]
    assert containment.inside(1).tolist() == [4, 5]
