"""The controller as a service: the site's topics and requests in, ping lists and documents out."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import resource
import time
from collections.abc import Sequence
from typing import Final

from api.middleware import SecurityHeaders
from api.serving import Server, listen
from api.serving import config as server_config
from controller.service.http.app import create_app
from controller.service.messages import Message
from controller.service.site import NotStored, Site
from controller.service.tokens import TokenError, TokenFile
from controller.state import ControllerState
from controller.tasks.tasks import Documents
from schemas import topics
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job
from schemas.documents.topology import Topology
from skeletonhunter import terminal
from skeletonhunter.errors import BadInput
from skeletonhunter.services import health
from skeletonhunter.services.http_app import controller_monitoring
from skeletonhunter.services.lifecycle import command_error, stop_signals, until_stopped
from skeletonhunter.services.pods import FollowedPods, cluster_of, options_of
from skeletonhunter.settings import Settings
from streams.errors import StreamsError
from streams.kafka.messages import OutMessage
from streams.kafka.producer import KafkaProducer
from streams.readers.operator_feed import OperatorFeed

_log = logging.getLogger(__name__)
#: Connections at most [count]: agents that wait, on the largest fabrics that were tried.
_CONNECTIONS: Final = 16_384
_LOOK_S: Final = 0.5  # between two looks at the topics
_FORGET_S: Final = 600.0  # between two times that what is long over is deleted
_STORED_WITHIN_MS: Final = 10_000  # or the request is answered with 503


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
    kafka = config.librdkafka()
    feed = OperatorFeed(kafka, more={topics.JOBS.name: Job})
    producer = KafkaProducer(
        kafka["bootstrap.servers"], kafka | {"delivery.timeout.ms": _STORED_WITHIN_MS}
    )

    async def send(messages: Sequence[Message]) -> None:
        await producer.send([
            OutMessage(each.topic, each.key.encode(), each.value, [])  # type: ignore[arg-type]  # None deletes
            for each in messages
        ])  # fmt: skip

    state = ControllerState(interval_s=config.controller_interval_s, dscp=config.controller_dscp)
    site = Site(send, lambda: time.time_ns() // 1_000_000, state=state)
    pods = FollowedPods(site, cluster, options_of(config)) if cluster is not None else None
    app = create_app(site, tokens)
    app.add_middleware(SecurityHeaders)
    try:
        listener, _ = listen(config.controller_host, port, or_any=False)
    except OSError as why:
        producer.close()
        where = f"{config.controller_host}:{port}"
        raise BadInput(
            f"SKH_CONTROLLER_HOST, SKH_CONTROLLER_PORT: {where}: {why.strerror}"
        ) from why
    server = Server(server_config(app, connections=_CONNECTIONS))
    stop = stop_signals()
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    work = asyncio.create_task(_work(site, feed, server, serving, pods))
    host, bound = listener.getsockname()[:2]

    async def ended() -> BaseException | None:
        await asyncio.wait({work, serving}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.exception()
        return RuntimeError("the HTTP server stopped by itself")

    try:
        with health.served(config, "controller", controller_monitoring(site, pods)):
            terminal.echo(f"controller http://{host}:{bound}/")
            failure = await until_stopped(ended, stop)
    finally:
        site.waiting.close()
        server.should_exit = True
        await serving
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await work
        with contextlib.suppress(NotStored):
            await site.flush()
        feed.close()
        await asyncio.to_thread(producer.close)
    if failure is not None:
        raise command_error(failure) from failure
    return 0


async def _work(
    site: Site,
    feed: OperatorFeed,
    server: Server,
    serving: asyncio.Task[None],
    pods: FollowedPods | None,
) -> None:
    """Restore the state, then follow topics and pods; raises what makes the service useless."""
    await feed.begin()
    restore(site, feed.known)
    gc.collect()
    gc.freeze()  # documents and lists stay: later collections need not visit them
    terminal.echo(
        f"restored {len(site.state.tasks.jobs)} jobs, {len(site.state.tasks.placements)} "
        f"containers, {len(site.state.lists)} fabrics"
    )
    forget_s = time.monotonic() + _FORGET_S
    following = None if pods is None else asyncio.create_task(pods.follow())
    try:
        while not serving.done() and not server.should_exit:
            await asyncio.sleep(_LOOK_S)
            if following is not None and following.done():
                following.result()  # raises: it ends by a defect only
            follow(site, feed.new_documents())
            feed.evict(int(time.time()))
            try:
                await site.flush()
                if time.monotonic() > forget_s:
                    forget_s = time.monotonic() + _FORGET_S
                    await site.forget()
            except NotStored as why:
                _log.error("documents are not stored: %s", why)
            except StreamsError as why:
                _log.error("%s", why)
    finally:
        if following is not None:
            following.cancel()


def restore(site: Site, documents: Sequence[object]) -> None:
    """Begin with the newest document of each key; ``documents`` of a key are in order."""
    boxes: dict[str, Placement] = {}
    jobs: dict[str, Job] = {}
    works: dict[str, Maintenance] = {}
    topologies: dict[str, Topology] = {}
    for each in documents:
        if isinstance(each, Placement):
            boxes[each.node_id] = each
        elif isinstance(each, Job):
            jobs[each.job] = each
        elif isinstance(each, Maintenance):
            works[each.key] = each
        elif isinstance(each, Topology):
            topologies[each.fabric] = each
    held = Documents([*boxes.values()], [*jobs.values()], [*works.values()])
    site.restore(held, topologies.values())


def follow(site: Site, documents: Sequence[object]) -> None:
    """Documents that operators' commands publish; this controller's own ones change nothing."""
    for each in documents:
        if isinstance(each, Topology):
            site.topology(each)
        elif isinstance(each, Maintenance):
            site.maintenance(each)


def _open_many_files() -> None:
    """Each agent that waits has a connection: as many as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * _CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 4 * _CONNECTIONS)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
