"""Requests go only where they may, end in time, and follow no redirect."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from builders.notifier.receiver import Answer, Receiver, certificate, receiving

from notifier.configuration.document import Target
from notifier.delivery.addresses import reason_against
from notifier.delivery.post import Outcome, Poster, of_status
from notifier.messages.requests import Request

POST = Request(b'{"a": 1}', headers={"X-Mine": "yes"})


class Names(AbstractResolver):
    """A DNS of its own; counts how often it is asked."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [
            ResolveResult(
                hostname=host, host=address, port=port, proto=0, flags=socket.AI_NUMERICHOST,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
            )
            for address in found
        ]  # fmt: skip

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def send(
    url: str, resolver: AbstractResolver | None = None, request: Request = POST, **options: Any
) -> Outcome:
    target = Target(url=url, **{"allow_http": True, "allow_private": True, **options})

    async def ask() -> Outcome:
        return await Poster(target, {}, resolver).send(request)

    return asyncio.run(ask())


def test_a_request_is_posted_as_it_is(receiver: Receiver) -> None:
    assert send(receiver.url) == Outcome("delivered")
    (found,) = receiver.received
    assert (found.method, found.path, found.body) == ("POST", "/hook", b'{"a": 1}')
    assert found.headers["x-mine"] == "yes"
    assert found.headers["content-type"] == "application/json"


def test_a_request_without_a_body_is_a_get(receiver: Receiver) -> None:
    send(receiver.url, request=Request(None))
    assert receiver.received[0].method == "GET"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "::1", "fd00::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1",
        "2002:7f00:1::", "::127.0.0.1", "192.0.2.1", "240.0.0.1",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public_is_asked_only_with_permission(address: str) -> None:
    assert reason_against(address, allow_private=False) is not None
    assert reason_against(address, allow_private=True) is None


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "0.0.0.0", "::", "224.0.0.1", "ff02::1",  # noqa: S104
    ],
)  # fmt: skip
def test_metadata_services_and_other_addresses_of_the_link_are_never_asked(address: str) -> None:
    assert reason_against(address, allow_private=True) is not None


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"])
def test_a_public_address_is_asked(address: str) -> None:
    assert reason_against(address, allow_private=False) is None


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "[::ffff:127.0.0.1]"]
)
def test_no_spelling_of_loopback_is_asked_without_permission(receiver: Receiver, host: str) -> None:
    outcome = send(f"http://{host}:{receiver.port}/", allow_private=False)
    assert outcome.result == "refused"
    assert "public" in outcome.reason
    assert receiver.received == []


def test_a_name_that_stands_for_a_private_address_is_refused(receiver: Receiver) -> None:
    names = Names(["8.8.8.8", "127.0.0.1"])
    outcome = send(f"http://hooks.example:{receiver.port}/", names, allow_private=False)
    assert outcome.result == "refused"
    assert "hooks.example is 127.0.0.1" in outcome.reason
    assert receiver.received == []


def test_a_name_is_resolved_once_and_the_connection_goes_to_what_was_checked(
    receiver: Receiver,
) -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    assert send(f"http://hooks.example:{receiver.port}/", names).result == "delivered"
    assert names.asked == 1
    assert receiver.received[0].headers["host"] == f"hooks.example:{receiver.port}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(receiver: Receiver, status: int) -> None:
    with receiving() as other:
        receiver.answer = lambda _: Answer(status, {"Location": other.url})
        outcome = send(receiver.url)
        assert outcome.result == "refused"
        assert "redirects are not followed" in outcome.reason
        assert other.received == []


def test_a_redirect_to_a_metadata_service_is_not_followed(receiver: Receiver) -> None:
    receiver.answer = lambda _: Answer(302, {"Location": "http://169.254.169.254/latest/"})
    assert send(receiver.url).reason.startswith("HTTP 302")


def test_a_receiver_that_does_not_answer_is_left_in_time(receiver: Receiver) -> None:
    hold = threading.Event()
    receiver.answer = lambda _: Answer(hold=hold)
    outcome = send(receiver.url, timeout_s=0.2)
    hold.set()
    assert outcome == Outcome("again", "no answer within 0.2 s")


def test_of_an_endless_answer_only_the_beginning_is_read() -> None:
    """The body never ends: reading all of it would be a time-out."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n")
                    while not ended.is_set():
                        connection.sendall(b"x" * 65536)
                except OSError:
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        outcome = send(f"http://127.0.0.1:{server.getsockname()[1]}/", timeout_s=60)
        ended.set()
        thread.join()
    assert outcome == Outcome("delivered")


def test_a_compressed_answer_is_not_expanded(receiver: Receiver) -> None:
    receiver.answer = lambda _: Answer(200, {"Content-Encoding": "gzip"}, b"no gzip at all")
    assert send(receiver.url) == Outcome("delivered")


@pytest.mark.parametrize(
    ("status", "result"),
    [(200, "delivered"), (202, "delivered"), (400, "refused"), (403, "refused"), (404, "refused"),
     (408, "again"), (429, "again"), (500, "again"), (503, "again")],
)  # fmt: skip
def test_what_a_status_means_for_a_notification(status: int, result: str) -> None:
    assert of_status(status, {}).result == result


@pytest.mark.parametrize(
    ("text", "after_s"), [("7", 7.0), ("999999", 3600.0), ("-1", 0.0), ("Wed, 1 Jan", 0.0)]
)
def test_a_receiver_may_ask_for_a_pause(text: str, after_s: float) -> None:
    assert of_status(429, {"Retry-After": text}).after_s == after_s


def test_a_receiver_that_is_not_there_is_asked_again_later() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert send(f"http://127.0.0.1:{port}/secret") == Outcome("again", "Connection refused")


@pytest.mark.parametrize("host", ["a" * 100, "a..b", "x" * 300 + ".example"])
def test_a_host_that_cannot_be_one_is_an_outcome_and_no_error(host: str) -> None:
    assert send(f"http://{host}/").result != "delivered"


def test_no_reason_shows_the_path_of_a_url(receiver: Receiver) -> None:
    receiver.answer = lambda _: Answer(404)
    assert "hook" not in send(receiver.url).reason


def test_the_certificate_of_a_receiver_is_checked(tmp_path: Path) -> None:
    tls, file = certificate(tmp_path)
    with receiving(tls) as receiver:
        url = f"https://localhost:{receiver.port}/hook"
        outcome = send(url)
        assert outcome.result == "again"
        assert "certificate is not trusted" in outcome.reason
        assert send(url, ca_file=file) == Outcome("delivered")
        assert len(receiver.received) == 1


def test_a_certificate_of_another_name_is_not_trusted(tmp_path: Path) -> None:
    tls, file = certificate(tmp_path, "other")
    with receiving(tls) as receiver:
        outcome = send(f"https://localhost:{receiver.port}/hook", ca_file=file)
    assert "certificate is not trusted" in outcome.reason


def test_a_proxy_of_the_environment_is_ignored_and_one_of_the_file_is_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert send(receiver.url).result == "delivered"
        assert proxy.received == []
        used = f"http://127.0.0.1:{proxy.port}"
        outcome = send("http://hooks.example/hook", proxy=used, allow_private=False)
        assert outcome == Outcome("delivered")
        assert proxy.received[0].path == "http://hooks.example/hook"


def test_an_address_of_the_own_network_is_not_asked_through_a_proxy(receiver: Receiver) -> None:
    proxy = f"http://127.0.0.1:{receiver.port}"
    assert send("http://10.0.0.1/", proxy=proxy, allow_private=False).result == "refused"
    assert receiver.received == []
