"""A fault goes through the real Alertmanager to its webhook, and so does its end."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import yaml
from builders.agents.waiting import wait_until
from builders.monitoring.prometheus_tools import tool
from builders.notifier.receiver import Receiver, receiving
from builders.schemas.incident_histories import version
from confluent_kafka import Producer

from schemas import topics
from schemas.documents.incident import encode

from ..conftest import Broker, Command

pytestmark = pytest.mark.slow
TEMPLATES = Path("/usr/share/prometheus/alertmanager")


@pytest.fixture
def webhook() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def alertmanager(tmp_path: Path, webhook: Receiver) -> Iterator[str]:
    """The address of an Alertmanager that sends all alerts to the webhook."""
    program = tool("prometheus-alertmanager")
    if not TEMPLATES.exists():
        pytest.skip(f"needs {TEMPLATES} (scripts/prometheus-tools.sh, as root)")
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    route = {"receiver": "hook", "group_wait": "0s", "group_interval": "1s",
             "group_by": ["incident_id"]}  # fmt: skip
    receivers = [{"name": "hook", "webhook_configs": [{"url": webhook.url}]}]
    (tmp_path / "alertmanager.yml").write_text(
        yaml.safe_dump({"route": route, "receivers": receivers})
    )
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "--config.file=alertmanager.yml", f"--storage.path={tmp_path / 'data'}",
             "--cluster.listen-address=", f"--web.listen-address={address}"],
            stdout=log, stderr=log, cwd=tmp_path,
        )  # fmt: skip
    try:

        def is_ready() -> bool:
            assert process.poll() is None, (tmp_path / "log").read_text()[-2000:]
            try:
                return httpx.get(f"http://{address}/-/ready").status_code == 200
            except httpx.TransportError:
                return False

        wait_until(is_ready)
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(60)


def test_an_incident_fires_in_alertmanager_until_it_is_over(
    embedded: Broker, run: Callable[..., Command], alertmanager: str, webhook: Receiver,
    tmp_path: Path,
) -> None:  # fmt: skip
    channel = {
        "kind": "alertmanager", "url": alertmanager, "allow_http": True, "allow_private": True
    }  # fmt: skip
    file = tmp_path / "notify.yaml"
    file.write_text(yaml.safe_dump({"channels": {"am": channel}, "routes": [{"to": ["am"]}]}))
    command = run(
        "notify", "--config", str(file), SKH_KAFKA=embedded.bootstrap, SKH_HEALTH_PORT="0"
    )
    command.wait_for(lambda: "notifying" in command.log.read_text(), "it notifies")
    producer = Producer({"bootstrap.servers": embedded.bootstrap})

    def heard(status: str, priority: str) -> bool:
        return any(
            each["status"] == status and each["labels"]["priority"] == priority
            for found in list(webhook.received)
            for each in found.json["alerts"]
        )

    for incident, status, priority in (
        (version(1), "firing", "P1"),
        (version(2, severity="P0"), "firing", "P0"),
        (version(3, severity="P0", state="resolved"), "resolved", "P0"),
    ):
        producer.produce(topics.INCIDENTS.name, key="AAAA", value=encode(incident))
        assert producer.flush(60) == 0
        command.wait_for(lambda s=status, p=priority: heard(s, p), f"{priority} {status}")  # type: ignore[misc]
    assert heard("resolved", "P1"), "the alert of the former severity has ended"
    labels = webhook.received[0].json["alerts"][0]["labels"]
    assert (labels["component"], labels["incident_id"]) == ("tor:t1", "AAAA")
    assert command.stop() == 0
