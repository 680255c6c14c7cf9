"""The controller's source of pods, as the settings say."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence

from controller.service.site import Site
from controller.sources.kubernetes import job_names
from controller.sources.kubernetes.api import ClusterPods, Unusable
from controller.sources.kubernetes.source import PodApi, PodSource
from controller.sources.kubernetes.tracker import PodOptions, PodTracker
from controller.tasks.events import AnyEvent
from skeletonhunter.errors import BadInput
from skeletonhunter.settings import Settings

_log = logging.getLogger(__name__)


class FollowedPods:
    """Pods of a cluster for a site; ``source`` has the metrics."""

    def __init__(self, site: Site, api: PodApi, options: PodOptions) -> None:
        self._site = site
        self._tracker = PodTracker(lambda: site.hosts(options.fabric), options)
        self.source = PodSource(
            api, self._tracker, self._apply, now_ms=site.now_ms, jitter=random.random
        )

    async def follow(self) -> None:
        """For ever; begins with what the site has restored."""
        tasks = self._site.state.tasks
        self._tracker.restore(tasks.placements.values(), tasks.jobs.values(), self._site.now_ms())
        await self.source.run()

    async def _apply(self, events: Sequence[AnyEvent]) -> None:
        take(self._site, events)


def take(site: Site, events: Sequence[AnyEvent]) -> None:
    """Take events in, which the service stores soon; an invalid one costs only itself.

    A broker that does not answer must not keep lists from following the pods. After a crash the
    pods are listed again.
    """
    try:
        site.take(events)
    except ValueError as why:
        if len(events) == 1:
            _log.error("an event is left out: %s", why)
            return
        for each in events:  # those before the invalid one again, without effect
            take(site, [each])


def cluster_of(config: Settings) -> ClusterPods | None:
    """None where no namespace is set; raises BadInput where the cluster cannot be used."""
    if config.controller_kubernetes is None:
        return None
    try:
        return ClusterPods(config.controller_kubernetes, config.controller_kubernetes_selector)
    except Unusable as why:
        raise BadInput(f"SKH_CONTROLLER_KUBERNETES: {why}") from why


def options_of(config: Settings) -> PodOptions:
    """What a pod's job and endpoints follow from."""
    return PodOptions(
        fabric=config.controller_kubernetes_fabric,
        labels=(*config.controller_kubernetes_job_labels, *job_names.LABELS),
        rails=tuple(config.controller_kubernetes_rails),
    )
