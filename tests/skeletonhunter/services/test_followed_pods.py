"""Pods of a cluster in the controller's lists: an API server that follows a script, a real site."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import Service, probed
from builders.controller.pods import ScriptedApi, ScriptEnds, pod
from builders.controller.task_events import HOSTS

from controller.service.site import NotStored
from controller.sources.kubernetes.api_objects import Change
from controller.sources.kubernetes.source import Listing
from controller.sources.kubernetes.tracker import PodOptions
from controller.tasks.events import JobShrunk
from skeletonhunter.errors import BadInput
from skeletonhunter.services.controller.pods import FollowedPods, cluster_of, take
from skeletonhunter.services.http_app import controller_monitoring
from skeletonhunter.settings import Settings

pytestmark = pytest.mark.anyio

TOPOLOGY = two_tiers(HOSTS)
PODS = [pod(number, number) for number in range(HOSTS)]


async def followed(service: Service, *steps: Listing | list[Change | Exception]) -> FollowedPods:
    """Follow until the script ends."""
    pods = FollowedPods(service.site, ScriptedApi(steps), PodOptions(fabric="f1"))
    with pytest.raises(ExceptionGroup) as why:
        await pods.follow()
    assert why.group_contains(ScriptEnds)
    with suppress(NotStored):
        await service.site.flush()  # as the service does twice a second
    return pods


async def test_listed_pods_are_placed_published_and_probed_when_their_agents_register() -> None:
    service = Service(TOPOLOGY)
    service.now_ms += 60_000
    pods = await followed(service, Listing(PODS, "5"))
    boxes = {each.node_id: each for each in service.topics.documents().placements}
    assert {each.state for each in boxes.values()} == {"starting"}
    assert [each.job for each in service.topics.documents().jobs] == ["train/job-a"]
    assert not probed(service.site.ping_list(("f1", "h000"))), "no agent has registered"
    for name, each in boxes.items():
        await service.site.register(("f1", each.node_sn), [name])
    assert probed(service.site.ping_list(("f1", "h000")))
    samples = {
        (each.metric.name, each.labels): each.value
        for each in [*service.site.samples(), *pods.source.samples()]
    }
    assert samples["skh_controller_source_events_total", ("kubernetes",)] == HOSTS + 1
    assert samples["skh_controller_pods", ("followed",)] == HOSTS
    assert ("skh_controller_watch_age_seconds", ()) in samples
    assert controller_monitoring(service.site, pods)


async def test_a_pod_that_vanished_while_the_controller_was_down_leaves_the_lists() -> None:
    before = Service(TOPOLOGY)
    await followed(before, Listing(PODS, "5"))
    after = Service(TOPOLOGY, before.topics)
    after.now_ms += 60_000
    await followed(after, Listing(PODS[1:], "90"), [Change("DELETED", PODS[1], "91")])
    states = {each.node_id: each.state for each in after.topics.documents().placements}
    assert [states[name] for name in sorted(states)] == ["gone", "gone", "starting", "starting"]


async def test_pods_are_followed_while_the_broker_does_not_answer() -> None:
    service = Service(TOPOLOGY)
    service.topics.down = True
    await followed(service, Listing(PODS, "5"))
    assert service.topics.sent == 0
    assert len(service.site.state.tasks.placements) == HOSTS
    service.topics.down = False
    await service.site.flush()
    assert len(service.topics.documents().placements) == HOSTS


async def test_an_event_that_makes_no_document_costs_only_itself() -> None:
    service = Service(TOPOLOGY)
    wrong = JobShrunk(time_ms=1, source="kubernetes", job="", containers=[])
    right = JobShrunk(time_ms=1, source="kubernetes", job="job-b", containers=["c9"])
    take(service.site, [wrong, right])
    assert list(service.site.state.tasks.placements) == ["c9"]


async def test_a_cluster_that_cannot_be_used_is_refused_by_the_settings_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(BadInput, match="SKH_CONTROLLER_KUBERNETES: no cluster"):
        cluster_of(Settings(controller_kubernetes="*"))
    assert cluster_of(Settings()) is None
