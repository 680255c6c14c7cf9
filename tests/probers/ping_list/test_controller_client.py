"""An agent at its controller: registers, waits for changes, keeps its last list, fails closed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from probers.ping_list.controller import ControllerClient, Ready, read_token
from probers.ping_list.document import PingList, PingListError, check_owner
from probers.ping_list.fetch import Answer
from probers.ping_list.poller import MAX_FAILURES, PingListPoller

LIST = msgspec.json.encode({
    "version": 1, "fabric": "f1", "node_sn": "host-1",
    "endpoints": [{"ip": "10.0.0.1", "real_ip": "10.0.0.1", "layer": "underlay"}], "targets": [],
})  # fmt: skip
OTHER = LIST.replace(b'"targets":[]', b'"targets":[],"interval_s":2.0')


class Controller:
    """Answers as the service does, and remembers what it was asked."""

    def __init__(self) -> None:
        self.list, self.etag = LIST, '"one"'
        self.down = False
        self.unknown: list[str] = []
        self.asked: list[tuple[str, str, Any]] = []

    def __call__(
        self,
        location: str,
        deadline_s: float,
        *,
        headers: dict[str, str],
        body: bytes | None = None,
    ) -> Answer:
        assert headers["Authorization"] == "Bearer secret"
        assert deadline_s > 0
        if self.down:
            raise PingListError(f"{location}: connection refused")
        kind = "list" if body is None else "register"
        reported = headers.get("If-None-Match") if body is None else msgspec.json.decode(body)
        self.asked.append((kind, location, reported))
        if body is not None:
            return Answer(200, "", msgspec.json.encode({"again_s": 30, "unknown": self.unknown}))
        if headers.get("If-None-Match") == self.etag:
            return Answer(304, self.etag, b"")
        return Answer(200, self.etag, self.list)


class Agent:
    """A client whose clock and endpoints the test sets."""

    def __init__(self) -> None:
        self.controller = Controller()
        self.now_s = 0.0
        self.ready = Ready()
        self.client = ControllerClient(
            ["http://controller:8770/"], "host 1", "secret", lambda: self.ready,
            ask=self.controller, clock=lambda: self.now_s,
        )  # fmt: skip

    def read(self) -> bytes:
        return self.client(self.client.location, 45.0)

    def kinds(self) -> list[str]:
        """What was asked since the last call."""
        kinds = [kind for kind, _, _ in self.controller.asked]
        self.controller.asked.clear()
        return kinds


def test_an_agent_registers_before_it_reads_and_then_in_time() -> None:
    agent = Agent()
    assert agent.read() == LIST
    assert agent.controller.asked[0][1:] == (
        "http://controller:8770/api/v1/agents/host%201/register", {"containers": None},
    )  # fmt: skip
    assert agent.kinds() == ["register", "list"]
    agent.read()
    assert agent.kinds() == ["list"]
    agent.now_s = 31.0
    agent.read()
    assert agent.kinds() == ["register", "list"]


def test_only_a_list_that_was_read_is_waited_for() -> None:
    agent = Agent()
    agent.read()
    agent.read()
    (_, first, no_etag), (_, second, etag) = [e for e in agent.controller.asked if e[0] == "list"]
    assert (no_etag, etag) == (None, '"one"')
    assert "wait_s" not in first
    assert second.endswith("/api/v1/agents/host%201/ping-list?wait_s=25&delta=true")


def test_an_unchanged_list_is_the_last_one_and_a_changed_one_the_new_one() -> None:
    agent = Agent()
    assert agent.read() == agent.read() == LIST
    agent.controller.list, agent.controller.etag = OTHER, '"two"'
    assert agent.read() == OTHER


def target(ip: str) -> dict[str, Any]:
    return {"src_ip": "10.0.0.1", "ip": ip, "real_ip": ip, "node_sn": "host-2",
            "layer": "underlay", "src_ports": [51000]}  # fmt: skip


def test_a_delta_is_applied_to_the_last_list() -> None:
    agent = Agent()
    whole = msgspec.json.decode(LIST)
    agent.controller.list = msgspec.json.encode(
        {**whole, "targets": [target("10.0.0.2"), target("10.0.0.3")]}
    )
    agent.read()
    agent.controller.list = msgspec.json.encode({
        "since": "one", "etag": "two", "interval_s": 2.0, "endpoints": whole["endpoints"],
        "added": [target("10.0.0.4")], "removed": [["10.0.0.1", "10.0.0.2"]],
    })  # fmt: skip
    agent.controller.etag = '"two"'
    found = msgspec.json.decode(agent.read())
    assert found == {
        **whole, "interval_s": 2.0, "targets": [target("10.0.0.3"), target("10.0.0.4")],
    }  # fmt: skip
    assert msgspec.json.decode(agent.read()) == found, "304"


@pytest.mark.parametrize("body", [b'{"since":"other","etag":"z","interval_s":1.0,"endpoints":[],'
                                  b'"added":[],"removed":[]}', b'{"since":"one"}'])  # fmt: skip
def test_a_delta_that_does_not_fit_is_a_failure_and_the_whole_list_is_read_next(
    body: bytes,
) -> None:
    agent = Agent()
    agent.read()
    agent.controller.list, agent.controller.etag = body, '"two"'
    with pytest.raises(PingListError):
        agent.read()
    agent.controller.list = OTHER
    assert agent.read() == OTHER
    assert "delta" not in agent.controller.asked[-1][1]


def test_an_agent_registers_anew_when_its_containers_change() -> None:
    agent = Agent()
    agent.read()
    agent.kinds()
    agent.ready = Ready(("c1",))
    agent.read()
    assert agent.controller.asked[0][2] == {"containers": ["c1"]}
    assert agent.kinds() == ["register", "list"]


def test_an_agent_waits_shortly_while_a_container_is_not_placed_or_an_endpoint_is_missing() -> None:
    agent = Agent()
    agent.controller.unknown = ["c1"]
    agent.ready = Ready(("c1",))
    agent.read()
    agent.read()
    assert agent.controller.asked[-1][1].endswith("?wait_s=1&delta=true")
    assert agent.kinds() == ["register", "list"] * 2
    agent.controller.unknown, agent.ready = [], Ready(("c1",), missing=1)
    agent.read()
    agent.read()
    assert agent.kinds() == ["register", "list", "list"]


def test_the_last_list_stays_until_three_failures_in_a_row_and_comes_back_after_them() -> None:
    agent = Agent()
    lists: list[PingList | None] = []
    poller = PingListPoller(
        agent.client.location, lambda found, where: check_owner(found, where, "host-1", None),
        lists.append, lambda _: None, fetch=agent.client,
    )  # fmt: skip
    poller.poll()
    (known,) = lists
    agent.controller.down = True
    for _ in range(MAX_FAILURES - 1):
        poller.poll()
    assert lists == [known], "it goes on with its last list"
    poller.poll()
    assert lists == [known, None], "it stops"
    agent.kinds()
    agent.controller.down = False
    poller.poll()
    assert lists == [known, None, known]
    assert agent.kinds() == ["register", "list"], "the controller may have forgotten the agent"


@pytest.mark.parametrize("content", ["", "two words\n", "h\xe4"])
def test_a_file_without_one_token_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text(content, encoding="latin-1")
    with pytest.raises(PingListError, match=r"not (a|one) token"):
        read_token(str(path))


def test_a_file_of_one_token_is_read(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text("skh_abc\n")
    assert read_token(str(path)) == "skh_abc"
    path.chmod(0o644)
    with pytest.raises(PingListError, match="chmod 600"):
        read_token(str(path))


def test_a_change_of_the_ready_containers_is_registered_while_the_list_is_waited_for() -> None:
    agent = Agent()
    agent.client.register_changes()
    assert agent.kinds() == [], "the first registration comes with the first reading"
    agent.read()
    agent.kinds()
    agent.client.register_changes()
    assert agent.kinds() == [], "nothing has changed"
    agent.ready = Ready(("c1",))
    agent.client.register_changes()
    assert agent.controller.asked[0][2] == {"containers": ["c1"]}
    assert agent.kinds() == ["register"]
    agent.read()
    assert agent.kinds() == ["list"], "it is registered"


def test_a_change_that_cannot_be_registered_is_left_to_the_next_reading() -> None:
    agent = Agent()
    agent.read()
    agent.kinds()
    agent.ready, agent.controller.down = Ready(("c1",)), True
    with pytest.raises(PingListError):
        agent.client.register_changes()
    agent.controller.down = False
    agent.read()
    assert agent.kinds() == ["register", "list"]
