"""The controller beside a played fabric: the service's own parts, without a broker around them.

Ping lists, requests to agents, the feedback loop and HTTP are those of ``controller.service``, in a
thread with an event loop. What the service stores on skh.requests is noted here; incidents and
answers, which it reads from topics, are handed over.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from api.serving import Server, config, listen
from controller.ping_lists.lists import PingLists
from controller.ping_lists.same_rail import ready_containers, same_rail_lists
from controller.service import tokens
from controller.service.http.app import create_app
from controller.service.messages import Message
from controller.service.requests.desk import RequestDesk
from controller.service.requests.loop import FeedbackLoop
from controller.service.site import Site
from controller.service.tokens import Tokens
from controller.tasks.tasks import Documents
from schemas import topics
from schemas.documents.incident import Incident
from schemas.documents.placement import Placement
from schemas.documents.requests import request as requests
from schemas.documents.requests.evidence import Answer
from schemas.documents.times import milliseconds_of
from schemas.documents.topology import Topology
from testbed.netns import Fabric
from testbed.netns.probes.controlled_agents import start_controlled_agents
from testbed.netns.probes.loopback_port import LoopbackPort

#: What hosts are asked about themselves: two readings of counters take half a minute.
_FACTS: Final = ("counters", "flow_table")
_LOOK_S: Final = 0.5
_END_S: Final = 15.0


class SuiteController:
    """Serves agents of one fabric while it is open; a context manager. Methods are for one thread.

    lists       what agents probe; everything in them is ready
    placements  of the topology's containers
    known       tokens of the hosts' agents
    Once entered: ``port`` of 127.0.0.1.
    """

    def __init__(
        self, topology: Topology, lists: PingLists, placements: Sequence[Placement], known: Tokens
    ) -> None:
        self.port = 0
        self._tokens = known
        self._site = Site(self._store, _now_ms)
        self._site.restore(Documents([*placements], [], []), [topology])
        self._site.state.lists[topology.fabric] = lists  # those of the suite, with few five-tuples
        self._desk = RequestDesk(self._site)
        self._facts: dict[str, int] = {}  # request -> when it expires [ms since the epoch]
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._running = threading.Event()

    def __enter__(self) -> Self:
        listener, _ = listen("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(listener,), name="controller")
        self._thread.start()
        self._running.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_END_S)

    def follow(self, incidents: Sequence[Incident], answers: Sequence[Answer]) -> None:
        """What came on skh.incidents and skh.evidence; raises what ended the controller."""
        if self._failure is not None or self._loop is None:
            raise RuntimeError("the suite's controller has ended") from self._failure
        if incidents or answers:
            self._loop.call_soon_threadsafe(self._take, [*incidents], [*answers])

    def awaits_facts(self) -> bool:
        """Whether a host was asked about itself and may still answer."""
        with self._lock:
            return any(expires_ms > _now_ms() for expires_ms in self._facts.values())

    def _take(self, incidents: list[Incident], answers: list[Answer]) -> None:
        for incident in incidents:
            self._site.advice.take(incident)
        for answer in answers:
            self._desk.take(answer)
            if answer.evidence.state != "running":
                with self._lock:
                    self._facts.pop(answer.evidence.request_id, None)

    async def _store(self, messages: Sequence[Message]) -> None:
        """In place of a broker."""
        for message in messages:
            if message.topic != topics.REQUESTS.name or message.value is None:
                continue
            request = requests.parse(message.value)
            with self._lock:
                if request.kind in _FACTS and not request.withdrawn:
                    self._facts[request.request_id] = milliseconds_of(request.expires)
                else:
                    self._facts.pop(request.request_id, None)

    def _run(self, listener: socket.socket) -> None:
        try:
            asyncio.run(self._serve(listener))
        except BaseException as why:  # the player's thread raises it
            self._failure = why
        finally:
            self._running.set()

    async def _serve(self, listener: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        site, desk = self._site, self._desk
        server = Server(config(create_app(site, lambda: self._tokens, desk)))
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(server.serve(sockets=[listener]))
            others = [
                tasks.create_task(FeedbackLoop(site, desk).run()),
                tasks.create_task(self._tend()),
            ]
            self._running.set()
            await self._stop.wait()
            site.waiting.close()
            desk.waiting.close()
            server.should_exit = True
            for each in others:
                each.cancel()
            await serving

    async def _tend(self) -> None:
        """As the service does twice a second."""
        while True:
            await asyncio.sleep(_LOOK_S)
            self._desk.expire()
            await self._site.flush()


@contextmanager
def controlled(
    fabric: Fabric, directory: Path, publish: str, *, ports_per_pair: int
) -> Iterator[SuiteController]:
    """A controller, and agents in all hosts and containers that know nothing but it.

    It lists what ``start_agents`` writes into files, so that plays with and without it compare.
    """
    topology = fabric.topology
    known = {host.node_sn: tokens.new_token() for host in topology.hosts}
    lines = [tokens.agent_line((topology.fabric, host), each) for host, each in known.items()]
    lists = same_rail_lists(topology, ports_per_pair=ports_per_pair)
    spaces = [fabric.namespace(host) for host in known]
    with (
        SuiteController(
            topology, lists, ready_containers(topology), tokens.parse("".join(lines))
        ) as controller,
        LoopbackPort(spaces, controller.port),
    ):
        url = f"http://127.0.0.1:{controller.port}"
        log = directory / "agents.log"
        start_controlled_agents(fabric, directory, publish, url, known, log)
        yield controller


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
