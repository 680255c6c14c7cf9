"""A controller in this process: the site's topics and requests in, ping lists and documents out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from api.middleware import SecurityHeaders
from api.serving import Server, listen
from api.serving import config as server_config
from controller.ping_lists import parameters as ping_lists
from controller.service.http.app import create_app
from controller.service.learning import learn
from controller.service.messages import Message
from controller.service.requests.desk import RequestDesk
from controller.service.requests.loop import FeedbackLoop
from controller.service.site import NotStored, Site
from controller.service.tokens import Tokens
from controller.state import ControllerState
from controller.tasks.tasks import Documents
from controller.traffic import parameters as traffic
from schemas import topics
from schemas.documents.incident import Incident
from schemas.documents.known_components import of_topology
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.requests.evidence import Answer
from schemas.documents.tasks.job import Job
from schemas.documents.topology import Topology
from skeletonhunter.naming import naming
from skeletonhunter.services.controller.anomaly_feed import AnomalyFeed
from streams.admission.admission import Admission
from streams.errors import LostLeadership, StreamsError
from streams.kafka import admin
from streams.kafka.leadership import Leadership
from streams.kafka.messages import OutMessage
from streams.kafka.producer import KafkaProducer
from streams.readers.operator_feed import OperatorFeed
from streams.readers.request_feed import RequestFeed
from streams.readers.throughput_feed import Received, ThroughputFeed

_log = logging.getLogger(__name__)
#: Connections at most [count]: agents that wait, on the largest fabrics that were tried.
CONNECTIONS: Final = 16_384
_MORE: Final = {topics.JOBS.name: Job, topics.INCIDENTS.name: Incident}
_UNREAD: Final = "their senders need not sign"
_LOOK_S: Final = 0.5  # between two looks at the topics
_NAMED_WITHIN_S: Final = 60.0  # a loss counts as nameable within so long
_FORGET_S: Final = 600.0  # between two times that what is long over is deleted
_STORED_WITHIN_MS: Final = 10_000  # or the request is answered with 503


def wall_ms() -> int:
    """Present time [ms since the epoch]."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class ControllerOptions:
    """Configuration of a controller.

    host, port   address for agents and operators
    any_port     replace a port that is taken by a free one
    interval_s   between two probes of a five-tuple, where the caps allow it
    dscp         of probes
    lists        sizes of the lists
    feedback     ask agents for what tells the tie sets of incidents apart
    topologies   known from the beginning, besides those of skh.topology
    now_ms       present time [ms since the epoch]; a simulation has its own
    """

    host: str = "127.0.0.1"
    port: int = 8770
    any_port: bool = False
    interval_s: float = 1.0
    dscp: int = 0
    lists: ping_lists.PingListParameters = ping_lists.DEFAULT
    topologies: tuple[Topology, ...] = ()
    feedback: bool = True
    now_ms: Callable[[], int] = wall_ms


class ControllerService:
    """A controller against a broker with all topics, in the event loop of its caller.

    kafka      librdkafka settings of the broker
    tokens     called for each request
    admission  decides who may send throughput and evidence; None: neither is read, no skeleton is
               inferred, and no probe is made on demand
    leadership  it answers only while it leads; None: there is no other controller
    Once started: ``url``, ``port_was_taken``. ``ended`` returns the error that ended it.

    site     what it serves; desk: requests to agents
    sources  further sources of events, for ever; they begin when the state is restored
    """

    def __init__(
        self,
        kafka: Mapping[str, Any],
        tokens: Callable[[], Tokens],
        options: ControllerOptions,
        admission: Admission | None = None,
        leadership: Leadership | None = None,
    ) -> None:
        self.options = options
        self._leadership = leadership
        self.port_was_taken = False
        self.url = ""
        self.restored = asyncio.Event()
        self.sources: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._kafka = dict(kafka)
        self._feed = OperatorFeed(kafka, more=_MORE)
        self._throughput = None if admission is None else ThroughputFeed(kafka, admission)
        self._producer: KafkaProducer | None = None
        self._skeletons_stored = False
        state = ControllerState(options.lists, interval_s=options.interval_s, dscp=options.dscp)
        self.site = Site(self._send, options.now_ms, state=state)
        self.desk = RequestDesk(self.site)
        self._feedback = FeedbackLoop(self.site, self.desk)
        self._anomalies = AnomalyFeed(kafka)
        self._answers = None if admission is None else RequestFeed(kafka, admission)
        if admission is None:
            self.site.traffic.unread = f"throughput is not read, since {_UNREAD}"
            self.desk.unread = _UNREAD
        self._app = create_app(self.site, tokens, self.desk)
        self._app.add_middleware(SecurityHeaders)

    async def start(self) -> None:
        """Listen and begin to read the topics; raises OSError when the address is not free."""
        options = self.options
        listener, self.port_was_taken = listen(
            options.host, options.port, or_any=options.any_port, connections=CONNECTIONS
        )
        host, port = listener.getsockname()[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        self._producer = KafkaProducer(
            self._kafka["bootstrap.servers"],
            self._kafka | {"delivery.timeout.ms": _STORED_WITHIN_MS},
        )
        self._server = Server(server_config(self._app, connections=CONNECTIONS))
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        self._work = asyncio.create_task(self._run())

    @property
    def topologies(self) -> tuple[Topology, ...]:
        """Those that were known from the beginning."""
        return self.options.topologies

    async def ended(self) -> BaseException | None:
        """Wait until the service ends by itself; returns the error that ended it."""
        await asyncio.wait({self._work, self._serving}, return_when=asyncio.FIRST_COMPLETED)
        if self._work.done() and (why := self._work.exception()) is not None:
            return why.exceptions[0] if isinstance(why, BaseExceptionGroup) else why
        return RuntimeError("the controller's HTTP server stopped by itself")

    async def stop(self) -> None:
        """Answer what waits, store what is not stored yet, close."""
        self.site.waiting.close()
        self.desk.waiting.close()
        self._server.should_exit = True
        await self._serving
        self._work.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self._work
        if self.site.leads:  # else another one does, and its documents are newer
            with contextlib.suppress(NotStored):
                await self.site.flush()
        if self._leadership is not None:
            await self._leadership.close()
        self._feed.close()
        if self._throughput is not None:
            await asyncio.to_thread(self._throughput.close)
        if self._answers is not None:
            await asyncio.to_thread(self._answers.close)
        await asyncio.to_thread(self._anomalies.close)
        if self._producer is not None:
            await asyncio.to_thread(self._producer.close)

    async def _send(self, messages: Sequence[Message]) -> None:
        if self._producer is None:
            raise ConnectionError("the controller has not started")
        await self._producer.send([
            OutMessage(each.topic, each.key.encode(), each.value, [])  # type: ignore[arg-type]  # None deletes
            for each in messages
        ])  # fmt: skip

    async def _run(self) -> None:
        """Restore the state, then follow the topics; raises what makes the service useless."""
        if self._leadership is not None:
            self.site.leads = False
            await self._leadership.acquire()
            self.site.leads = True
        await self._feed.begin()
        restore(self.site, self._feed.known, self.options.topologies)
        if self._answers is not None:
            self._feedback.restore(self.desk.restore(await self._answers.begin()))
            if self._answers.missing:  # what cannot be stored would keep other documents waiting
                missing = " and ".join(self._answers.missing)
                self.desk.unread = f"no {missing}; `skeletonhunter topics --create` makes it"
        if self.desk.unread:
            _log.warning("no requests to agents: %s", self.desk.unread)
        await self._find_topic_of_skeletons()
        self.restored.set()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._cover())
            if self._leadership is not None:
                tasks.create_task(self._stand_down(self._leadership))
            for source in self.sources:
                tasks.create_task(source())
            if self._answers is not None:
                tasks.create_task(self._hear(self._answers))
            if self.options.feedback and not self.desk.unread:
                tasks.create_task(self._feedback.run())
                tasks.create_task(self._suspect())
            if self._throughput is not None:
                tasks.create_task(self._measure(self._throughput))
                tasks.create_task(learn(self.site))

    async def _follow(self) -> None:
        """Take in what operators publish, store what waits, forget what is long over."""
        site, feed = self.site, self._feed
        forget_s = time.monotonic() + _FORGET_S
        while True:
            await asyncio.sleep(_LOOK_S)
            follow(site, feed.new_documents())
            feed.evict(int(time.time()))
            self.desk.expire()
            for line in site.advice.audit(site.blacklist()).lines():
                _log.warning("%s", line)
            await self._store_skeletons()
            try:
                await site.flush()
                if time.monotonic() > forget_s:
                    forget_s = time.monotonic() + _FORGET_S
                    await site.forget()
            except NotStored as why:
                _log.error("documents are not stored: %s", why)
            except StreamsError as why:
                _log.error("%s", why)

    async def _find_topic_of_skeletons(self) -> None:
        name = topics.SKELETONS.name
        try:
            known = await asyncio.to_thread(admin.state, self._kafka)
        except StreamsError as why:
            _log.warning("skeletons are not stored: whether there is a %s: %s", name, why)
            return
        self._skeletons_stored = any(each.partitions for each in known if each.topic.name == name)
        if not self._skeletons_stored:
            _log.warning(
                "skeletons are not stored: no %s; `skeletonhunter topics --create` makes it", name
            )

    async def _store_skeletons(self) -> None:
        """Publish what was inferred. What cannot be stored is tried again, and nothing waits."""
        if not self._skeletons_stored:
            return
        try:
            await self.site.skeletons.flush()
        except (StreamsError, ConnectionError) as why:
            _log.error("skeletons are not stored: %s", why)

    async def _stand_down(self, leadership: Leadership) -> None:
        """End when another controller may lead: what it publishes must not be overwritten."""
        await leadership.lost()
        self.site.leads = False
        raise LostLeadership("another controller leads now; start this one again to stand by")

    async def _cover(self) -> None:
        """Count what the lists of each fabric cross, again when they have changed."""
        site = self.site
        while True:
            for fabric, topology in list(site.topologies.items()):
                rule = naming(len(of_topology(topology)), within_s=_NAMED_WITHIN_S)
                lists = site.state.lists[fabric]
                await site.coverage.count(topology, lists, rule, site.now_ms())
            await asyncio.sleep(site.parameters.cover_s)

    async def _hear(self, feed: RequestFeed) -> None:
        """Take in what agents answer; requests come back too, and are known."""
        while True:
            for each in await feed.read():
                if isinstance(each, Answer):
                    self.desk.take(each)

    async def _suspect(self) -> None:
        """Pass on what the localizer finds anomalous from now on."""
        if not await self._anomalies.begin():
            _log.warning("no skh.anomalies: suspect paths are not looked at more closely")
            return
        while True:
            for each in await self._anomalies.read():
                self._feedback.suspects.take(each, self.site.now_ms())

    async def _measure(self, feed: ThroughputFeed) -> None:
        """Take in the throughput of rnics, from as long ago as it is held."""
        await feed.begin(wall_ms() - traffic.DEFAULT.kept_s * 1000)
        while True:
            for each in await feed.read():
                take_throughput(self.site, each)
            self.site.traffic.samples["refused"] = feed.refused


def restore(site: Site, documents: Sequence[object], topologies: Iterable[Topology] = ()) -> None:
    """Begin with the newest document of each key; ``documents`` of a key are in order.

    topologies  of fabrics of which there is no document
    """
    boxes: dict[str, Placement] = {}
    jobs: dict[str, Job] = {}
    works: dict[str, Maintenance] = {}
    known = {each.fabric: each for each in topologies}
    for each in documents:
        if isinstance(each, Placement):
            boxes[each.node_id] = each
        elif isinstance(each, Job):
            jobs[each.job] = each
        elif isinstance(each, Maintenance):
            works[each.key] = each
        elif isinstance(each, Topology):
            known[each.fabric] = each
        elif isinstance(each, Incident):
            site.advice.take(each)
    held = Documents([*boxes.values()], [*jobs.values()], [*works.values()])
    site.restore(held, known.values())


def follow(site: Site, documents: Sequence[object]) -> None:
    """Documents that operators' commands publish; this controller's own ones change nothing."""
    for each in documents:
        if isinstance(each, Topology):
            site.topology(each)
        elif isinstance(each, Maintenance):
            site.maintenance(each)
        elif isinstance(each, Placement | Job):
            site.published(each)
        elif isinstance(each, Incident):
            site.advice.take(each)


def take_throughput(site: Site, received: Received) -> None:
    """Samples of a message, by fabric: nearly always one."""
    rows = received.rows
    for fabric in set(rows.fabric):
        at = [row for row, each in enumerate(rows.fabric) if each == fabric]
        site.traffic.add(
            fabric, [rows.node_sn[i] for i in at], [rows.real_ip[i] for i in at],
            rows.time[at], rows.tx_bytes[at], rows.rx_bytes[at], received.time_ms,
        )  # fmt: skip
