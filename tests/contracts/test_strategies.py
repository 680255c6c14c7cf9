"""What every registered strategy owes its caller; a new one is tested by being registered."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from builders.evidence.samples import column_of, empty, fabric, lossy
from builders.evidence.samples import late as _late
from builders.evidence.samples import permuted as _permuted
from scipy import sparse

from localizer import strategies
from localizer.detectors import loss
from localizer.errors import LocalizerError, UnknownStrategy
from localizer.evidence import Attribution, Evidence, Matrices
from localizer.strategies import registry

every_strategy = pytest.mark.parametrize("name", strategies.names())
#: Those that know chance from a cause; the others leave that to whoever calls them.
cautious = pytest.mark.parametrize("name", ["deepview", "hypothesis"])

#: One of each kind, and what it adds to a path that crosses it [us].
CULPRITS = ["rnic:r3.1", "vswitch:h4", "tor:asw10", "spine:dsw1", "link:spine:dsw0|tor:asw01"]

#: What a method cannot do by its definition, and why.
WEAK = {
    ("intersection", "rnic:r3.1"): "its ToR has the same bad paths, and those lost by chance too",
    ("netbouncer", "tor:asw10"): "loss on all links of a switch fits as well as loss in it",
    ("netbouncer", "spine:dsw1"): "loss on all links of a switch fits as well as loss in it",
}


def one_way(evidence: Evidence) -> Evidence:
    """The same evidence, given by direction: every path of the fabric crosses all that it crosses
    on the way out and on the way back."""
    links = [all(one.startswith("link:") for one in names) for names in fabric()[0].members]
    share = evidence.incidence
    return replace(evidence, crossings=Matrices(share, share.copy(), share.copy(), np.array(links)))


def unsure(evidence: Evidence) -> Evidence:
    """The same with every third route unknown: both spines, and the links to them, by halves."""
    open_ = np.arange(len(evidence.sent)) % 3 == 0
    other = evidence.incidence[np.arange(len(open_)) ^ 1]  # the five-tuple over the other spine
    mixed = (evidence.incidence + other) / 2
    keep = sparse.diags_array(np.where(open_, 0.0, 1.0))
    rest = sparse.diags_array(np.where(open_, 1.0, 0.0))
    share = sparse.csr_array(keep @ evidence.incidence + rest @ mixed)
    return one_way(replace(evidence, crossings=Matrices(share)))


def permuted(evidence: Evidence, rows: np.ndarray, columns: np.ndarray) -> Evidence:
    """The same evidence with its paths and classes given in another order."""
    given = _permuted(evidence, rows, columns)
    if evidence.forward is None or evidence.reverse is None or evidence.directed is None:
        return given
    return replace(
        given,
        crossings=Matrices(
            given.incidence,
            sparse.csr_array(evidence.forward[rows][:, columns]),
            sparse.csr_array(evidence.reverse[rows][:, columns]),
            evidence.directed[columns],
        ),
    )


LOSSY = {
    "loss at an rnic": lossy([("rnic:r3.1", 0.3)], 1),
    "loss at a ToR": lossy([("tor:asw10", 0.2)], 2),
    "loss at a link": lossy([("link:spine:dsw0|tor:asw01", 0.3)], 9),
    "a dead rnic": lossy([("rnic:r3.1", 1.0)], 3),
    "a dead ToR": lossy([("tor:asw10", 1.0)], 10),
    "loss at two": lossy([("rnic:r3.1", 0.5), ("vswitch:h9", 0.2)], 4),
    "noise": lossy([], 5),
}
LATE = {
    "a slow vswitch": _late([("vswitch:h4", 10.0)], 6),
    "slow at two": _late([("vswitch:h4", 10.0), ("rnic:r9.0", 9.0)], 7),
    "restless": _late([], 8),
}
CASES = {
    **LOSSY,
    **LATE,
    **{f"{name}, by direction": one_way(case) for name, case in (LOSSY | LATE).items()},
    **{f"{name}, some routes unknown": unsure(case) for name, case in LOSSY.items()},
}
every_case = pytest.mark.parametrize("case", CASES)


def blames(name: str, evidence: Evidence) -> list[Attribution]:
    return strategies.get(name)(evidence)


def named(found: list[Attribution]) -> list[str]:
    return [fabric()[0].members[blame.column][0] for blame in found]


# --- what all owe -----------------------------------------------------------------------------


@every_strategy
@every_case
def test_the_same_evidence_gives_the_same_blames_and_stays_as_it_was(name: str, case: str) -> None:
    evidence = CASES[case]
    before = copy.deepcopy(evidence)
    first, second = blames(name, evidence), blames(name, evidence)
    assert first == second
    for field in ("sent", "lost", "excess_us", "noise_us", "bad", "source", "overlay"):
        assert np.array_equal(getattr(evidence, field), getattr(before, field)), field
    for field in ("incidence", "forward", "reverse"):
        now, then = getattr(evidence, field), getattr(before, field)
        assert (now is None) == (then is None), field
        assert now is None or (now != then).nnz == 0, field


@every_strategy
@every_case
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_paths_and_classes_does_not_matter(name: str, case: str, seed: int) -> None:
    evidence, rng = CASES[case], np.random.default_rng(seed)
    rows = rng.permutation(len(evidence.sent))
    columns = rng.permutation(evidence.incidence.shape[1])
    known = blames(name, evidence)
    found = blames(name, permuted(evidence, rows, columns))
    again = [Attribution(int(columns[b.column]), b.effect, b.p_value) for b in found]
    assert sorted(b.column for b in again) == sorted(b.column for b in known)
    effects = {b.column: b for b in known}
    for blame in again:
        assert blame.effect == pytest.approx(effects[blame.column].effect, rel=1e-6)
        assert blame.p_value == pytest.approx(effects[blame.column].p_value, rel=1e-3, abs=1e-12)


@every_strategy
@every_case
def test_blames_are_finite_and_name_a_class_once(name: str, case: str) -> None:
    evidence = CASES[case]
    found = blames(name, evidence)
    columns = [blame.column for blame in found]
    assert len(set(columns)) == len(columns)
    for blame in found:
        assert 0 <= blame.column < evidence.incidence.shape[1]
        assert np.isfinite(blame.effect)
        assert blame.effect >= 0
        assert 0 <= blame.p_value <= 1
        if not evidence.latency:
            assert blame.effect <= 1


@every_strategy
def test_no_component_is_blamed_for_nothing(name: str) -> None:
    evidence = empty()
    assert blames(name, evidence) == []
    none = permuted(evidence, np.arange(0), np.arange(evidence.incidence.shape[1]))
    assert blames(name, none) == []
    assert blames(name, permuted(evidence, np.arange(0), np.arange(0))) == []


@every_strategy
def test_paths_that_sent_nothing_say_nothing(name: str) -> None:
    quiet = empty()
    quiet.sent[:] = 0
    assert blames(name, quiet) == []


@every_strategy
@pytest.mark.parametrize("component", CULPRITS)
@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_the_single_culprit_of_losses_is_blamed_first(
    name: str, component: str, share: float
) -> None:
    if why := WEAK.get((name, component)):
        pytest.xfail(why)
    for seed in range(3):
        assert blames(name, lossy([(component, share)], seed))[0].column == column_of(component)


@every_strategy
@pytest.mark.parametrize("component", CULPRITS)
def test_the_single_culprit_of_lateness_is_blamed_first(name: str, component: str) -> None:
    if why := WEAK.get((name, component)):
        pytest.xfail(why)
    for seed in range(3):
        assert blames(name, _late([(component, 10.0)], seed))[0].column == column_of(component)


@every_strategy
def test_telling_directions_hides_no_culprit(name: str) -> None:
    for component in ("vswitch:h4", "link:spine:dsw0|tor:asw01"):
        found = blames(name, one_way(lossy([(component, 0.3)], 1)))
        assert found[0].column == column_of(component)


@every_strategy
def test_only_a_link_fails_in_one_direction(name: str) -> None:
    for case in CASES.values():
        for blame in blames(name, case):
            assert blame.direction in (None, "both", "a>b", "b>a")
            if blame.direction in ("a>b", "b>a"):
                assert case.directed is not None
                assert case.directed[blame.column]


@every_strategy
def test_every_other_setting_of_a_strategy_is_a_strategy_too(name: str) -> None:
    for setting in [*strategies.variants(name).values()][::7]:
        for case in ("loss at two", "a slow vswitch", "noise, some routes unknown"):
            for blame in setting(CASES[case]):
                assert np.isfinite(blame.effect)
                assert 0 <= blame.column < CASES[case].incidence.shape[1]


@every_strategy
@pytest.mark.parametrize("latency", [False, True])
def test_whatever_is_observed_the_answer_is_well_formed(name: str, latency: bool) -> None:
    """Evidence without sense: it need not find anything, but it must come back."""
    rng = np.random.default_rng(11)
    for _ in range(10):
        base = empty()
        count = len(base.sent)
        sent = rng.integers(0, 5, count)
        lost = rng.integers(0, 5, count) % (sent + 1)
        bad = rng.random(count) < rng.random()
        excess = rng.normal(0, 5, count)
        evidence = Evidence(
            base.crossings, sent, lost, excess, np.full(count, 1.0), bad, base.source, base.overlay,
            rng.choice([2e-4, 0.01, 0.4]), latency,
        )  # fmt: skip
        for blame in blames(name, evidence):
            assert np.isfinite([blame.effect, blame.p_value]).all()


# --- what the cautious ones owe ---------------------------------------------------------------

PAIRS = [
    ("rnic:r3.1", "vswitch:h9"),
    ("tor:asw10", "rnic:r2.1"),
    ("tor:asw10", "tor:asw01"),
    ("spine:dsw1", "rnic:r9.0"),
    ("link:spine:dsw0|tor:asw01", "vswitch:h1"),
]


@cautious
@pytest.mark.parametrize("pair", PAIRS)
def test_two_simultaneous_culprits_are_both_found_and_no_other(
    name: str, pair: tuple[str, str]
) -> None:
    for seed in range(3):
        found = blames(name, lossy([(pair[0], 0.3), (pair[1], 0.4)], seed))
        assert {b.column for b in found} == {column_of(one) for one in pair}, named(found)


def noise(name: str, windows: int = 200) -> list[Attribution]:
    return [blame for seed in range(windows) for blame in blames(name, lossy([], seed))]


def test_noise_alone_is_no_components_fault() -> None:
    assert noise("hypothesis") == []


def test_what_deepview_reads_out_of_noise_is_too_small_to_matter() -> None:
    """It tests what the Lasso picked on the same data, so some quiet windows name somebody."""
    found = noise("deepview")
    assert all(blame.effect < loss.DEFAULT.least_excess for blame in found)
    assert len(found) < 200 / 10


def test_restless_latencies_are_no_components_fault() -> None:
    assert [b for seed in range(100) for b in blames("hypothesis", _late([], seed))] == []


@cautious
@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_the_effect_is_the_loss_of_a_path_that_crosses_it(name: str, share: float) -> None:
    (blame,) = blames(name, lossy([("tor:asw10", share)], 1))
    assert blame.effect == pytest.approx(share, rel=0.15)


def test_the_effect_is_the_latency_that_a_crossing_adds() -> None:
    (blame,) = blames("hypothesis", _late([("tor:asw10", 8.0)], 1))
    assert blame.effect == pytest.approx(8.0, rel=0.1)


# --- the registry -----------------------------------------------------------------------------


def test_the_default_is_registered_with_the_published_ones() -> None:
    published = {"deepview", "flock", "intersection", "netbouncer", "pll", "vote007"}
    assert {"hypothesis", *published} == {*strategies.names()}


def test_two_strategies_of_one_name_are_an_error() -> None:
    with pytest.raises(LocalizerError, match="two strategies are named 'vote007'"):
        registry.strategy("vote007")(lambda evidence: [])


def test_an_unknown_name_tells_the_known_ones() -> None:
    with pytest.raises(UnknownStrategy, match="no strategy named 'oracle'; choose one of deep"):
        strategies.get("oracle")
