"""The socket of a host's agent: each container gets its own list and speaks for itself only."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from builders.agents.requests import request, target
from builders.agents.waiting import Until

from probers.containers.peers import Namespace, Peer, UnknownPeer
from probers.containers.server import ContainerServer
from probers.ping_list.controller import Ready
from probers.ping_list.document import Endpoint, PingList, PingListError, Target, parse
from probers.ping_list.host_agent import HostAgentClient
from schemas.documents.requests.request import Request


def endpoint(container: int, rail: int) -> Endpoint:
    return Endpoint(f"172.{16 + rail}.0.{container}", f"10.0.0.{rail}", "overlay", f"c{container}")


def host_list(containers: int = 2) -> PingList:
    """Of a host with two rails, each of whose containers has a target."""
    own = [endpoint(box, rail) for box in range(1, containers + 1) for rail in range(2)]
    own.append(Endpoint("10.0.0.0", "10.0.0.0", "underlay"))
    targets = [Target(each.ip, "172.16.9.9", "10.9.9.9", "host-9", each.layer, [51000])
               for each in own]  # fmt: skip
    return PingList("host-1", fabric="f1", endpoints=own, targets=targets)


class Host:
    """A host's agent; ``addresses`` are those of the next process that connects."""

    def __init__(self, path: Path, **options: int) -> None:
        self.path = path
        self.addresses: frozenset[str] | None = frozenset()
        self.number = 1
        self.now_s = 1_000.0
        self.server = ContainerServer(
            path, namespace=self.namespace_of, clock=lambda: self.now_s, **options
        ).start()
        self.now_s += 1_000.0  # long after its start
        self.clients: list[HostAgentClient] = []
        self.asked: list[Sequence[Request]] = []  # of all clients

    def namespace_of(self, peer: Peer) -> Namespace:
        if self.addresses is None:
            raise UnknownPeer("it has ended")
        return Namespace(self.number, self.addresses)

    def be(self, *containers: int) -> None:
        """From now on those that connect have the addresses of these containers."""
        own = {endpoint(box, rail).ip for box in containers for rail in range(2)}
        self.addresses = frozenset(own | {"127.0.0.1"})

    def client(self, ready: Ready | None = None) -> HostAgentClient:
        answers = Ready(None, 0, 2) if ready is None else ready
        made = HostAgentClient(str(self.path), lambda: answers, self.asked.append)
        self.clients.append(made)
        return made

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(str(self.path))
        return connection


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path / "containers.sock")
    yield made
    for client in made.clients:
        client.close()
    made.server.close()


def read(client: HostAgentClient) -> PingList:
    return parse(client(client.location, 60.0), client.location)


def ready_of(host: Host) -> tuple[str, ...] | None:
    return host.server.ready(["c1", "c2"])


def test_a_container_gets_its_own_endpoints_and_targets_and_no_others(host: Host) -> None:
    host.server.offer(host_list())
    host.be(2)
    found = read(host.client())
    assert found.node_sn == "host-1"
    assert [own.node_id for own in found.endpoints] == ["c2", "c2"]
    assert [target.src_ip for target in found.targets] == ["172.16.0.2", "172.17.0.2"]


def test_the_socket_is_for_its_owner_and_group_only(host: Host) -> None:
    assert stat.S_IMODE(host.path.stat().st_mode) == 0o660


def test_a_container_is_ready_when_its_endpoints_answer_and_drains_when_it_says_so(
    host: Host, eventually: Until
) -> None:
    host.server.offer(host_list())
    host.be(1)
    unbound = host.client(Ready(None, 2, 0))
    read(unbound)
    eventually(lambda: host.server.connections == 1)
    assert ready_of(host) == ()
    client = host.client()
    read(client)
    eventually(lambda: ready_of(host) == ("c1",))
    client.draining = True
    client.say()
    eventually(lambda: ready_of(host) == ())


def test_a_change_reaches_the_container_whose_list_it_changes(host: Host) -> None:
    host.server.offer(host_list())
    host.be(1)
    client = host.client()
    assert len(read(client).targets) == 2
    host.server.offer(msgspec.structs.replace(host_list(), targets=host_list().targets[:1]))
    while len(read(client).targets) != 1:
        pass
    host.server.offer(None)
    while read(client).targets:
        pass
    assert len(read(client).endpoints) == 2, "it is lost: probe nothing, go on answering"


def test_a_container_may_connect_before_the_controller_knows_it(
    host: Host, eventually: Until
) -> None:
    host.be(1)
    client = host.client()
    host.server.offer(host_list(0))
    assert read(client).endpoints == []
    host.server.offer(host_list(1))
    eventually(lambda: len(read(client).endpoints) == 2)
    eventually(lambda: ready_of(host) == ("c1",))


def test_another_namespace_cannot_speak_for_a_container(host: Host, eventually: Until) -> None:
    host.server.offer(host_list())
    host.addresses = frozenset({"172.16.0.1"})  # one of the two of c1
    stranger = host.client()
    assert read(stranger).endpoints == []
    assert ready_of(host) == ()
    stranger.close()
    eventually(lambda: host.server.connections == 0)
    host.be(1, 2)
    with closing(host.connect()) as both:
        assert both.recv(1) == b"", "two containers at once"
    assert host.server.counts["ambiguous"] == 1


def test_of_two_connections_of_a_container_the_newer_one_speaks(
    host: Host, eventually: Until
) -> None:
    host.server.offer(host_list())
    host.be(1)
    read(host.client())
    eventually(lambda: ready_of(host) == ("c1",))
    read(host.client(Ready(None, 1, 1)))
    eventually(lambda: ready_of(host) == ())
    assert host.server.counts["replaced"] == 1
    assert host.server.connections == 1


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"rea", None),
        (b"ready\nnonsense\n", "malformed"),
        (b"x" * 40, "malformed"),
        (b"\xff\x00\n", "malformed"),
        (b"ready\n" * 300, "too-much"),
    ],
)
def test_what_is_no_word_of_a_container_closes_its_connection_with_one_line(
    host: Host, eventually: Until, capsys: pytest.CaptureFixture[str],
    sent: bytes, reason: str | None,
) -> None:  # fmt: skip
    with closing(host.connect()) as connection:
        connection.sendall(sent)
        if reason is None:
            connection.sendall(b"dy\n")
            eventually(lambda: host.server.connections == 1)
        else:
            assert connection.recv(1) == b""
            assert host.server.counts[reason] == 1
            assert capsys.readouterr().err.count(f"container-refused reason={reason}") == 1


def test_a_peer_that_cannot_be_found_is_refused(host: Host) -> None:
    host.server.offer(host_list())
    host.addresses = None
    with closing(host.connect()) as connection:
        assert connection.recv(1) == b""
    assert host.server.counts["unknown-peer"] == 1


def test_another_namespace_with_the_addresses_of_a_connected_container_is_refused(
    host: Host, eventually: Until
) -> None:
    host.server.offer(host_list())
    host.be(1)
    read(host.client())
    eventually(lambda: ready_of(host) == ("c1",))
    host.number = 2
    with closing(host.connect()) as thief:
        assert thief.recv(1) == b""
    assert host.server.counts["taken"] == 1
    assert ready_of(host) == ("c1",)
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert host.server.client_of(here) is None, "nor do its records count as the container's"
    host.clients[0].close()
    eventually(lambda: host.server.connections == 0)
    assert len(read(host.client()).endpoints) == 2, "the container may have been made again"


def test_whoever_connects_to_another_socket_is_known_in_the_same_way(host: Host) -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert host.server.client_of(here) is None
        host.server.offer(host_list())
        host.be(2)
        while host.server.client_of(here) is None:
            pass
        assert host.server.client_of(here) == ("c2", "")
        host.be(1, 2)
        assert host.server.client_of(here) is None
        host.addresses = None
        assert host.server.client_of(here) is None


def test_connections_of_no_container_do_not_keep_containers_out(
    tmp_path: Path, eventually: Until
) -> None:
    host = Host(tmp_path / "small.sock", max_connections=3)
    host.server.offer(host_list())
    strangers = [host.connect() for _ in range(3)]
    eventually(lambda: host.server.connections == 3)
    host.be(1)
    assert len(read(host.client()).endpoints) == 2
    assert host.server.connections == 3
    assert host.server.counts["connections"] == 1
    for each in (*strangers, *host.clients):
        each.close()
    host.server.close()


def test_connecting_all_the_time_is_slowed_down(host: Host, eventually: Until) -> None:
    connected = 0
    while connected < 10_000:
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
            connection.setblocking(False)
            if connection.connect_ex(str(host.path)):  # what has connected waits to be accepted
                if host.server.counts["accepted"] > 256:
                    break
            else:
                connected += 1
    assert connected < 400
    host.now_s += 600
    eventually(lambda: host.server.counts["accepted"] == connected)


def test_a_container_gets_the_requests_to_its_own_endpoints_and_no_others(host: Host) -> None:
    def to(*sources: str) -> Request:
        targets = [target(src_ip=each, layer="overlay") for each in sources]
        return request(request_id=" ".join(sources), targets=targets)

    own, other = to("172.16.0.1", "172.17.0.1"), to("172.16.0.2")
    both, facts = (
        to("172.16.0.1", "172.16.0.2"),
        request(request_id="facts", kind="counters", targets=[]),
    )
    host.server.offer(host_list())
    host.server.ask([own, other, both, facts])
    host.be(1)
    client = host.client()
    while not host.asked:
        read(client)
    host.server.ask([other, both, facts])
    while len(host.asked) < 2:
        read(client)
    assert host.asked == [[own], []]


def test_a_host_agent_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    client = HostAgentClient(str(tmp_path / "gone.sock"), lambda: Ready())
    with pytest.raises(PingListError, match=r"unix:.*No such file.*does the host's agent run"):
        client(client.location, 1.0)


def test_a_container_reads_and_says_all_again_when_its_hosts_agent_comes_back(
    tmp_path: Path, eventually: Until
) -> None:
    path = tmp_path / "restarted.sock"
    first = Host(path)
    first.be(1)
    first.server.offer(host_list())
    client = first.client()
    before = client(client.location, 60.0)
    first.server.close()
    with pytest.raises(PingListError, match=r"closed the connection|reset by peer"):
        client(client.location, 60.0)
    second = Host(path)
    second.be(1)
    second.server.offer(host_list())
    assert client(client.location, 60.0) == before
    eventually(lambda: ready_of(second) == ("c1",))
    client.close()
    second.server.close()
