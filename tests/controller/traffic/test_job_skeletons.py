"""When a skeleton is inferred, and what makes a job's lists use it."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from builders.controller.clusters import T0_MS
from builders.controller.training_site import T0_S, TrainingSite

from controller.ping_lists.jobs.pairs import OPTED_OUT
from controller.skeleton.inference import Skeleton, infer
from controller.state import Outcome
from controller.tasks.events import JobEnded
from controller.traffic.job_skeletons import Attempt
from controller.traffic.parameters import DEFAULT
from testbed.training.cases import training, without_collectives

LEAST_S = 240
MADE = training(64, moe=False, impairment="none", seed=5, duration_s=600)


def conclude(site: TrainingSite, attempt: Attempt, found: Skeleton) -> Outcome:
    return site.skeletons.found(attempt, site.skeletons.conclude(attempt, found))


def test_a_job_with_traffic_for_long_enough_gets_its_skeleton() -> None:
    site = TrainingSite(MADE)
    (attempt,) = site.play(0, LEAST_S)
    assert attempt.given.tx.shape == (64, LEAST_S)
    np.testing.assert_allclose(attempt.given.tx, MADE.tx[:, :LEAST_S], rtol=1e-3, atol=1)
    notified = conclude(site, attempt, infer(attempt.given)).notified
    assert {node_sn for _, node_sn in notified} == {host.node_sn for host in site.topology.hosts}
    phase = site.state.phases("f1")["job-a"]
    assert (phase.phase, phase.reason) == ("skeleton", "inferred")
    progress = site.skeletons.progress("f1", "job-a")
    assert progress.last is not None
    assert progress.last.confidence >= DEFAULT.confidence
    assert progress.seconds == LEAST_S
    true = {tuple(sorted(pair)) for pair in MADE.pairs.tolist()}
    row = {ip: number for number, ip in enumerate(attempt.names.real_ip)}
    assert true <= {tuple(sorted((row[a], row[b]))) for a, b in progress.last.pairs}


def test_a_skeleton_is_inferred_again_as_throughput_grows_and_then_at_intervals() -> None:
    site = TrainingSite(MADE)
    attempts = site.play(0, 2 * DEFAULT.kept_s + 810 + 1)
    ends = [
        attempt.names.start_ns // 10**9 - T0_S + attempt.given.tx.shape[1] for attempt in attempts
    ]
    assert ends == [240, 360, 540, 810, 810 + DEFAULT.kept_s, 810 + 2 * DEFAULT.kept_s]
    assert max(attempt.given.tx.shape[1] for attempt in attempts) == DEFAULT.kept_s


@pytest.mark.parametrize("kind", ["idle", "copying"])
def test_a_job_without_collectives_keeps_its_rails_with_the_reason(kind: str) -> None:
    site = TrainingSite(without_collectives(kind, 64, seed=1, duration_s=300))
    (attempt,) = site.play(0, LEAST_S)
    conclude(site, attempt, infer(attempt.given))
    phase = site.state.phases("f1")["job-a"]
    last = site.skeletons.progress("f1", "job-a").last
    assert last is not None
    assert phase.phase == "activation"
    assert phase.reason == last.declined != ""


def test_an_inference_of_little_confidence_is_not_used() -> None:
    site = TrainingSite(MADE)
    (attempt,) = site.play(0, LEAST_S)
    found = dataclasses.replace(infer(attempt.given), confidence=0.4)
    conclude(site, attempt, found)
    assert site.state.phases("f1")["job-a"].reason == "confidence 0.40 is below 0.5"


def test_a_skeleton_that_is_declined_later_goes_back_to_the_rails() -> None:
    site = TrainingSite(MADE)
    (attempt,) = site.play(0, LEAST_S)
    found = infer(attempt.given)
    conclude(site, attempt, found)
    (again,) = site.play(LEAST_S, 360)
    conclude(site, again, dataclasses.replace(found, declined="no rhythm any more"))
    phase = site.state.phases("f1")["job-a"]
    assert (phase.phase, phase.reason) == ("activation", "no rhythm any more")


def test_after_an_elastic_change_throughput_counts_anew_and_what_was_begun_is_dropped() -> None:
    site = TrainingSite(MADE)
    (attempt,) = site.play(0, LEAST_S)
    site.join(0, T0_MS + LEAST_S * 1000)
    assert site.play(LEAST_S, 2 * LEAST_S - 1) == []
    outcome = conclude(site, attempt, infer(attempt.given))
    assert not outcome.notified
    assert site.state.phases("f1")["job-a"].phase == "activation"
    assert len(site.play(2 * LEAST_S - 1, 2 * LEAST_S)) == 1


def test_throughput_counts_from_the_last_container_that_becomes_ready() -> None:
    site = TrainingSite(MADE, ready=False)
    for number, box in enumerate(site.boxes):
        site.play(10 * number, 10 * number + 10)
        site.ready(box, T0_MS + 10_000 * number)
    started_s = 10 * len(site.boxes)
    (attempt,) = site.play(started_s, started_s + LEAST_S)
    assert attempt.names.start_ns // 10**9 == T0_S + started_s


def test_of_a_job_that_has_opted_out_nothing_is_held() -> None:
    site = TrainingSite(MADE, skeleton=False)
    assert site.play(0, LEAST_S + 60) == []
    assert site.skeletons.progress("f1", "job-a").waits == OPTED_OUT
    assert site.skeletons.samples["kept"] == 0


def test_a_job_that_ends_is_not_watched_any_more() -> None:
    site = TrainingSite(MADE)
    site.play(0, 10)
    site.state.apply(JobEnded(time_ms=T0_MS + 10_000, source="rest", job="job-a"))
    for box in site.boxes:
        site.gone(box, T0_MS + 11_000)
    kept = site.skeletons.samples["kept"]
    site.play(11, 20)
    assert site.skeletons.samples["kept"] <= kept + 64, "but for the second before it is seen"


def test_samples_of_foreign_rnics_and_of_clocks_ahead_are_counted_and_left_out() -> None:
    site = TrainingSite(MADE)
    one = np.array([T0_S * 10**9])
    size = np.array([1])
    site.skeletons.add("f1", ["h001"], ["10.0.0.1"], one, size, size, T0_MS)
    site.skeletons.add("f2", ["h000"], ["10.0.0.1"], one, size, size, T0_MS)
    site.skeletons.add("f1", ["h000"], ["10.0.0.1"], one + 3600 * 10**9, size, size, T0_MS)
    assert site.skeletons.samples == {"kept": 0, "unknown": 2, "ahead": 1}


def test_the_throughput_that_is_held_is_bounded_over_all_jobs() -> None:
    site = TrainingSite(MADE, parameters=dataclasses.replace(DEFAULT, rnics=63))
    site.play(0, 10)
    assert site.skeletons.samples["kept"] == 0
    assert "63 rnics" in site.skeletons.progress("f1", "job-a").waits


def test_an_error_of_an_inference_is_the_reason_why_there_is_none() -> None:
    site = TrainingSite(MADE)
    (attempt,) = site.play(0, LEAST_S)
    site.skeletons.failed(attempt, "SVD did not converge")
    assert site.state.phases("f1")["job-a"].reason == "inference failed: SVD did not converge"


def test_of_a_skeleton_with_many_pairs_the_lists_hold_as_many_as_they_may() -> None:
    site = TrainingSite(MADE)
    (attempt,) = site.play(0, LEAST_S)
    found = infer(attempt.given)
    limit = 2
    site.state.parameters = dataclasses.replace(site.state.parameters, skeleton_targets=limit)
    what = site.skeletons.conclude(attempt, found)
    site.skeletons.found(attempt, what)
    degree = Counter(end for pair in what.pairs for end in pair)
    assert max(degree.values()) == limit
    phase = site.state.phases("f1")["job-a"]
    whole = len(found.pairs)
    assert phase.pairs == len(what.pairs) < whole
    assert phase.reason == f"inferred; {phase.pairs} of {whole} pairs, 12 targets an endpoint"


def test_where_no_throughput_is_read_each_job_says_so() -> None:
    site = TrainingSite(MADE)
    site.skeletons.unread = "throughput is not read"
    assert site.skeletons.progress("f1", "job-a").waits == "throughput is not read"
