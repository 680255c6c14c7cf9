"""A fault that is stored reaches a webhook through the real Prometheus and Alertmanager, once, and
so does its end."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from builders.agents.waiting import Condition, wait_until
from builders.api_service import served
from builders.monitoring.prometheus_tools import SHIPPED, tool
from builders.schemas.incidents import INCIDENT, NIC, RESOLVED

from schemas.documents.incident import Incident, encode
from store import migrate
from store.client import Store, open_store
from streams.sink import rows as sink_rows
from testbed.services.ports import free_port

pytestmark = pytest.mark.slow

TEMPLATES = Path("/usr/share/prometheus/alertmanager")


class Webhook:
    """Receives what Alertmanager sends: alerts, each with its receiver and state."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str, dict[str, str]]] = []
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                for each in body["alerts"]:
                    webhook.received.append((body["receiver"], each["status"], each["labels"]))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def of(self, incident_id: str) -> list[tuple[str, str]]:
        return [
            (receiver, status)
            for receiver, status, labels in list(self.received)
            if labels.get("incident_id") == incident_id
        ]


@contextmanager
def serving(webhook: Webhook) -> Iterator[None]:
    thread = threading.Thread(target=webhook.server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        webhook.server.shutdown()
        thread.join()
        webhook.server.server_close()


@contextmanager
def running(folder: Path, *command: str) -> Iterator[Condition]:
    """A program while it is needed; yields whether it runs, which fails the test if it does not."""
    with (folder / "log").open("a+b") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)

        def runs() -> bool:
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            return True

        try:
            yield runs
        finally:
            process.terminate()
            process.wait(60)


def fast(folder: Path, api: int, alertmanager: int, webhook: int) -> None:
    """The shipped configurations with other addresses and shorter times."""
    (folder / "alerts.yml").write_text((SHIPPED / "alerts.yml").read_text())
    prometheus = yaml.safe_load((SHIPPED / "prometheus.yml").read_text())
    prometheus["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    prometheus["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [
        f"127.0.0.1:{alertmanager}"
    ]
    first = prometheus["scrape_configs"][0]
    first["static_configs"] = [{"targets": [f"127.0.0.1:{api}"], "labels": {"part": "api"}}]
    prometheus["scrape_configs"] = [first]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(prometheus))
    notify = yaml.safe_load((SHIPPED / "alertmanager.yml").read_text())
    notify["route"] |= {"group_wait": "0s", "group_interval": "1s"}
    for receiver in notify["receivers"]:
        for each in receiver["webhook_configs"]:
            each["url"] = each["url"].replace("127.0.0.1:9095", f"127.0.0.1:{webhook}")
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(notify))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"chdb:{tmp_path / 'store'}")) as opened:
        migrate.migrate(opened)
        yield opened


@pytest.fixture
def put(store: Store) -> Callable[[Incident], None]:
    def insert(incident: Incident) -> None:
        store.insert("incidents", sink_rows.incident(encode(incident)))

    return insert


def test_an_incident_is_notified_once_and_its_end_too(
    tmp_path: Path, store: Store, put: Callable[[Incident], None]
) -> None:
    programs = {name: tool(name) for name in ("prometheus", "prometheus-alertmanager")}
    if not TEMPLATES.exists():
        pytest.skip(f"needs {TEMPLATES} (scripts/prometheus-tools.sh, as root)")
    webhook, alertmanager = Webhook(), free_port()
    with ExitStack() as stack:
        stack.enter_context(serving(webhook))
        client = stack.enter_context(served(store))
        assert client.base_url.port is not None
        fast(tmp_path, client.base_url.port, alertmanager, webhook.port)
        notifier = stack.enter_context(running(
            tmp_path, programs["prometheus-alertmanager"], "--config.file=alertmanager.yml",
            f"--storage.path={tmp_path / 'alertmanager'}", "--cluster.listen-address=",
            f"--web.listen-address=127.0.0.1:{alertmanager}",
        ))  # fmt: skip
        watcher = stack.enter_context(running(
            tmp_path, programs["prometheus"], "--config.file=prometheus.yml",
            f"--storage.tsdb.path={tmp_path / 'prometheus'}",
            f"--web.listen-address=127.0.0.1:{free_port()}",
        ))  # fmt: skip

        def notified(incident_id: str, status: str) -> None:
            wait_until(
                lambda: notifier() and watcher() and ("on-call", status) in webhook.of(incident_id)
            )

        put(INCIDENT)
        notified("AAAA", "firing")
        put(NIC)
        notified("BBBB", "firing")
        put(RESOLVED)
        notified("AAAA", "resolved")
    assert webhook.of("AAAA") == [("on-call", "firing"), ("on-call", "resolved")]
    assert set(webhook.of("BBBB")) == {("on-call", "firing")}
    labels = next(found for _, _, found in webhook.received if found.get("incident_id") == "BBBB")
    assert labels["alertname"] == "SkhIncidentP0"
    assert labels["component"] == NIC.component
    assert labels["issue_type"] == NIC.issue_type
