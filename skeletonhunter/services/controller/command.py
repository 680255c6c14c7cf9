"""``skeletonhunter controller``: the service of agents and operators, against Kafka."""

from __future__ import annotations

import asyncio
import logging
import resource
from typing import Final

from controller.service.tokens import TokenError, TokenFile
from schemas import topics
from skeletonhunter import terminal
from skeletonhunter.errors import BadInput, BadSettings
from skeletonhunter.services import health
from skeletonhunter.services.broker import client_settings
from skeletonhunter.services.controller.garbage import freeze, freeze_survivors
from skeletonhunter.services.controller.pods import FollowedPods, cluster_of, options_of
from skeletonhunter.services.controller.service import (
    CONNECTIONS,
    ControllerOptions,
    ControllerService,
)
from skeletonhunter.services.http_app import controller_monitoring
from skeletonhunter.services.lifecycle import command_error, stop_signals, until_stopped
from skeletonhunter.services.sender_keys import key_ring
from skeletonhunter.settings import Settings
from streams.admission.admission import Admission
from streams.kafka.leadership import Leadership

#: Controllers of the same topics are members; the one with partition 0 of skh.jobs leads.
_GROUP: Final = "skh-controller"
_log = logging.getLogger(__name__)


async def serve(config: Settings, port: int) -> int:
    """Serve agents and operators until stopped; raises BadInput, and what ended the service.

    port  0: any free one
    """
    try:
        tokens = TokenFile(config.require_tokens())
    except TokenError as why:
        raise BadInput(f"SKH_CONTROLLER_TOKENS: {why}") from why
    cluster = cluster_of(config)
    _open_many_files()
    options = ControllerOptions(
        config.controller_host, port, interval_s=config.controller_interval_s,
        dscp=config.controller_dscp, feedback=config.controller_feedback,
    )  # fmt: skip
    kafka = client_settings(config)
    leadership = Leadership(kafka, topics.JOBS.name, _GROUP)
    service = ControllerService(kafka, tokens, options, _admission(config), leadership)
    pods = FollowedPods(service.site, cluster, options_of(config)) if cluster is not None else None
    if pods is not None:
        service.sources.append(pods.follow)
    try:
        await service.start()
    except OSError as why:
        where = f"{config.controller_host}:{port}"
        raise BadInput(
            f"SKH_CONTROLLER_HOST, SKH_CONTROLLER_PORT: {where}: {why.strerror}"
        ) from why
    stop = stop_signals()
    beside = [asyncio.create_task(_say_restored(service)), asyncio.create_task(freeze_survivors())]
    try:
        with health.served(
            config, "controller", controller_monitoring(service.site, pods, [service.desk.samples])
        ):
            terminal.announce(f"controller {service.url}")
            failure = await until_stopped(service.ended, stop)
    finally:
        for each in beside:
            each.cancel()
        await service.stop()
    if failure is not None:
        raise command_error(failure) from failure
    return 0


async def _say_restored(service: ControllerService) -> None:
    await service.restored.wait()
    freeze(whole=True)
    state = service.site.state
    terminal.announce(
        f"restored {len(state.tasks.jobs)} jobs, {len(state.tasks.placements)} containers, "
        f"{len(state.lists)} fabrics"
    )


def _admission(config: Settings) -> Admission | None:
    """Who may send throughput; None where any client of the broker could."""
    try:
        ring = key_ring(config, config.require_kafka())
    except BadSettings as why:
        _log.warning("no skeleton is inferred: throughput is not read, since %s", why)
        return None
    return Admission(ring, unsigned=config.unsigned_senders == "accept")


def _open_many_files() -> None:
    """Each agent that waits has a connection: as many as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 4 * CONNECTIONS)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
