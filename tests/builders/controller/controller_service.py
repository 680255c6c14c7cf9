"""A controller's HTTP service in this process, without a broker, and its callers."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec
import uvicorn

from controller.service.http.app import create_app
from controller.service.messages import Message
from controller.service.parameters import ServiceParameters
from controller.service.requests.desk import RequestDesk
from controller.service.site import Site
from controller.service.tokens import agent_line, operator_line, parse
from controller.tasks.tasks import Documents
from schemas import topics
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job
from schemas.documents.topology import Topology

T0_MS = 1_790_000_000_000
OPERATOR = "operator-token"


def token_of(node_sn: str) -> str:
    return f"token-of-{node_sn}"


def tokens_of(hosts: Sequence[str], fabric: str = "f1") -> str:
    """The file of tokens of an operator and these hosts."""
    lines = [agent_line((fabric, node_sn), token_of(node_sn)) for node_sn in hosts]
    return "".join([operator_line("operator-a", OPERATOR), *lines])


class Topics:
    """The compacted topics: of each key the newest document."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], bytes] = {}
        self.sent = 0
        self.down = False

    async def send(self, messages: Sequence[Message]) -> None:
        await asyncio.sleep(0)
        if self.down:
            raise ConnectionError("no broker")
        for each in messages:
            self.sent += 1
            if each.value is None:
                self.held.pop((each.topic, each.key), None)
            else:
                self.held[each.topic, each.key] = each.value

    def documents(self) -> Documents:
        """What a controller that starts reads."""

        def of(topic: str, kind: type[Any]) -> list[Any]:
            held = [value for (name, _), value in self.held.items() if name == topic]
            return [msgspec.json.decode(value, type=kind) for value in held]

        return Documents(
            of(topics.PLACEMENT.name, Placement), of(topics.JOBS.name, Job),
            of(topics.MAINTENANCE.name, Maintenance),
        )  # fmt: skip


class Service:
    """A site with its application; the clock stands still but for ``now_ms``."""

    def __init__(
        self, topology: Topology, held: Topics | None = None, *, restored: bool = True
    ) -> None:
        self.topics = Topics() if held is None else held
        self.now_ms = T0_MS
        self.site = Site(
            self.topics.send, lambda: self.now_ms, parameters=ServiceParameters(settle_s=0.0)
        )
        if restored:
            self.site.restore(self.topics.documents(), [topology])
        known = parse(tokens_of([host.node_sn for host in topology.hosts], topology.fabric))
        self.desk = RequestDesk(self.site)
        self.app = create_app(self.site, lambda: known, self.desk)

    def client(self, token: str | None) -> httpx.AsyncClient:
        """A caller with a token; None: without any."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app),
            base_url="http://controller",
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
        )

    def agent(self, node_sn: str) -> httpx.AsyncClient:
        return self.client(token_of(node_sn))

    def operator(self) -> httpx.AsyncClient:
        return self.client(OPERATOR)


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """The service on a port of loopback, in a thread; gives its URL."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()  # so that a request which comes before the server waits for it
    server = uvicorn.Server(uvicorn.Config(service.app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        service.site.waiting.close()
        server.should_exit = True
        thread.join()
        listener.close()


def run(story: Callable[[], Awaitable[None]]) -> None:
    """Run a test's story in an event loop of its own."""

    async def main() -> None:
        async with asyncio.timeout(60):
            await story()

    asyncio.run(main())


def probed(document: dict[str, Any]) -> set[tuple[str, str]]:
    """(source, target) of the overlay entries of a list."""
    return {
        (each["src_ip"], each["ip"]) for each in document["targets"] if each["layer"] == "overlay"
    }
