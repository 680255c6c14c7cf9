"""From events to lists: whatever happens in whatever order, only what is ready is probed."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from builders.controller.clusters import two_tiers
from builders.controller.task_events import HOSTS, box, events
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.ping_lists.lists import PingLists
from controller.tasks.events import AnyEvent, ContainerReady, JobSubmitted
from controller.tasks.tasks import Documents, Tasks

TOPOLOGY = two_tiers(HOSTS)
T0 = 1_790_000_000_000


class Site:
    """The state, and the lists that follow it."""

    def __init__(self, tasks: Tasks | None = None) -> None:
        self.tasks = tasks or Tasks()
        self.lists = PingLists(TOPOLOGY)
        for job in self.tasks.jobs.values():
            self.lists.job(job)
        for document in self.tasks.documents().placements:
            self.lists.container(document)

    def take(self, event: AnyEvent) -> set[str]:
        """Apply an event; returns the hosts whose lists change."""
        changes = self.tasks.apply(event)
        changed = [self.lists.job(job) for job in changes.jobs]
        changed += [self.lists.container(change.after) for change in changes.containers]
        return set().union(*changed)

    def entries(self) -> set[tuple[str, str]]:
        """(source, target) of all lists."""
        return {
            (target["src_ip"], target["ip"])
            for node_sn in self.lists.hosts
            for target in self._targets(node_sn)
        }

    def _targets(self, node_sn: str) -> list[dict[str, Any]]:
        found = self.lists.document(node_sn)["targets"]
        assert isinstance(found, list)
        return found


@settings(deadline=None)
@given(st.lists(events(), max_size=20))
def test_only_endpoints_of_containers_that_are_ready_are_probed(happened: list[AnyEvent]) -> None:
    site = Site()
    for event in happened:
        site.take(event)
        ready = {
            end.ip
            for placed in site.tasks.placements.values()
            if placed.state == "ready"
            for end in placed.endpoints
        }
        assert {ip for pair in site.entries() for ip in pair} <= ready


@settings(deadline=None)
@given(st.lists(events(), max_size=12))
def test_repeated_events_change_no_list(happened: list[AnyEvent]) -> None:
    site = Site()
    for event in happened:
        site.take(event)
    assert [site.take(event) for event in happened] == [set()] * len(happened)


def test_lists_are_the_same_after_a_restart_from_the_compacted_topics() -> None:
    boxes = [box(f"c{number}", number % HOSTS) for number in range(HOSTS)]
    random.Random(1).shuffle(boxes)
    site = Site()
    site.take(JobSubmitted(time_ms=T0, source="rest", job="job-a", size=4, containers=boxes))
    for each in boxes:
        site.take(
            ContainerReady(
                time_ms=T0 + 9000, source="agent", node_id=each.node_id, node_sn=each.node_sn
            )
        )
    stored = msgspec.json.decode(msgspec.json.encode(site.tasks.documents()), type=Documents)
    again = Site(Tasks.restored(stored))
    assert site.entries()
    assert again.entries() == site.entries()
    assert [again.lists.etag(n) for n in again.lists.hosts] == [
        site.lists.etag(n) for n in site.lists.hosts
    ]
