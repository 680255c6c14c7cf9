"""``skeletonhunter probe``: what it asks, what it prints, its exit codes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from builders.command_line import Command

REQUEST = {
    "request": {"request_id": "probe-1", "kind": "probe", "node_sn": "h1", "fabric": "f1",
                "targets": [{"src_ports": [50000, 50001]}]},
}  # fmt: skip
ENDS = {"src_ip": "10.0.0.1", "src_port": 50000, "ip": "10.0.1.1", "port": 65300,
        "time": "2026-01-01T00:00:01.250Z"}  # fmt: skip


def probe(rtt_us: float | None) -> dict[str, Any]:
    return {"probe": {**ENDS, "dial": "timeout" if rtt_us is None else "success",
                      "rtt_us": rtt_us}}  # fmt: skip


def end(sent: int, answered: int, state: str = "complete", reason: str = "") -> dict[str, Any]:
    known = {"state": state, "reason": reason, "left_out": 0}
    return {"end": {**known, "sent": sent, "answered": answered}}


class Controller:
    """Answers POST /api/v1/probes with lines, or refuses."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.status, self.asked = 200, dict[str, Any]()
        controller = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/api/v1/probes"
                assert self.headers["Authorization"] == "Bearer secret"
                body = self.rfile.read(int(self.headers["Content-Length"]))
                controller.asked = json.loads(body)
                self.send_response(controller.status)
                self.end_headers()
                for line in controller.lines:
                    self.wfile.write(b"\n" + json.dumps(line).encode() + b"\n")

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()


@pytest.fixture
def controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> Iterator[Controller]:
    """A controller that the settings name; after ``command``, which clears them."""
    made = Controller()
    (tmp_path / "token").touch(mode=0o600)
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.setenv("SKH_CONTROLLER_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("SKH_CONTROLLER_URL", f"http://127.0.0.1:{made.server.server_port}")
    yield made
    made.server.shutdown()
    made.thread.join()
    made.server.server_close()


def test_answers_are_printed_like_pings_with_a_summary(
    controller: Controller, command: Command
) -> None:
    controller.lines = [REQUEST, probe(12.5), probe(20.0), end(2, 2)]
    done = command("probe", "h1", "h2", "--count", "2", "--interval", "0.5")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "h1 -> h2: host h1 of fabric f1, 2 five-tuples, probe probe-1",
        "00:00:01.250  10.0.0.1:50000 -> 10.0.1.1:65300  12.5 us",
        "00:00:01.250  10.0.0.1:50000 -> 10.0.1.1:65300  20.0 us",
        "2 sent, 2 answered, 0% lost; round trip min/median/max 12.5/16.2/20.0 us",
    ]
    assert controller.asked == {
        "source": "h1", "target": "h2", "count": 2, "interval_s": 0.5, "ports": 1,
        "traceroute": False, "fabric": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([probe(12.5), probe(None), end(2, 1)], "2 sent, 1 answered, 50% lost"),
        ([probe(None), end(1, 0)], "1 sent, 0 answered, 100% lost"),
        ([end(0, 0, "expired", "the agent has not answered")], "expired: the agent has not"),
        ([probe(9.0), end(1, 1, "complete", "3 probes were not sent")], "3 probes were not sent"),
        ([{"route": {**ENDS, "dial": "timeout", "hops": ["10.9.0.1", None]}}, end(0, 0)],
         "timeout  10.9.0.1 *"),
    ],
)  # fmt: skip
def test_what_is_lost_or_not_done_is_said_and_ends_with_1(
    controller: Controller, command: Command, lines: list[dict[str, Any]], said: str
) -> None:
    controller.lines = [REQUEST, *lines]
    done = command("probe", "h1", "h2")
    assert (done.code, said in done.out) == (1, True), done.out + done.err
    assert command("probe", "h1", "h2", "--format", "json").code == 1


def test_what_may_not_be_asked_ends_with_2_and_the_controllers_reason(
    controller: Controller, command: Command
) -> None:
    controller.status, controller.lines = 404, [{"detail": "no host 'h9' is known"}]
    done = command("probe", "h1", "h9")
    assert (done.code, "no host 'h9' is known" in done.error_line) == (2, True)
    controller.status = 200
    controller.lines = [REQUEST, end(0, 0, "refused", "target 10.0.1.1 is outside --allow-cidr")]
    done = command("probe", "h1", "h2")
    assert (done.code, "outside --allow-cidr" in done.error_line) == (2, True)


def test_a_controller_that_stops_before_the_end_is_no_result(
    controller: Controller, command: Command
) -> None:
    controller.lines = [REQUEST, probe(12.5)]
    assert command("probe", "h1", "h2").code == 3
    controller.status = 503
    assert command("probe", "h1", "h2").code == 3


def test_programs_get_every_line_as_json(controller: Controller, command: Command) -> None:
    controller.lines = [REQUEST, probe(12.5), end(1, 1)]
    done = command("probe", "h1", "h2", "--format", "json")
    assert [json.loads(line) for line in done.out.splitlines()] == controller.lines
