"""``skeletonhunter up`` with SKH_NOTIFY: a fault goes in, its notification comes out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders.notifier.receiver import receiving

from probers.publishing.unix import UnixPublisher
from schemas import topics
from schemas.documents import heartbeat
from testbed.simulator import publish
from testbed.simulator.simulator import Second

from ..conftest import Command

pytestmark = pytest.mark.slow


def test_up_notifies_of_what_it_judges(
    run: Callable[..., Command],
    seconds: list[Second],
    topology_file: Path,
    expected: set[tuple[Any, ...]],
    tmp_path: Path,
) -> None:
    with receiving() as receiver:
        file = tmp_path / "notify.yaml"
        hook = {"kind": "webhook", "url": receiver.url, "allow_http": True, "allow_private": True}
        file.write_text(yaml.safe_dump({"channels": {"hook": hook}, "routes": [{"to": ["hook"]}]}))
        up = run(
            "up", "--port", "0", "--data", str(tmp_path / "var"),
            "--topology", str(topology_file), SKH_NOTIFY=str(file),
        )  # fmt: skip
        up.wait_for(lambda: "stop with" in up.log.read_text(), "it says what it serves")
        path = re.search(r"agents\s+unix:(\S+)", up.log.read_text())
        assert path is not None
        agent = UnixPublisher(path[1])
        agent.connect(5)
        for second in seconds:
            for beat in second.heartbeats:
                raw = heartbeat.encode(beat)
                agent.publish(topics.HEARTBEATS.name, beat.node_sn, raw, topics.JSON)
        for message in publish.published(seconds):
            agent.publish(topics.PINGS.name, message.node_sn, message.value, topics.ARROW)
        agent.close(10)

        def notified(change: str) -> set[tuple[str, str]]:
            return {
                (each.json["incident_id"], each.json["incident"]["component"])
                for each in list(receiver.received)
                if each.json["type"] == change
            }

        causes = {
            (identity, component) for identity, component, _, parent in expected if not parent
        }
        up.wait_for(lambda: causes <= notified("opened"), "the fault is notified")
        up.wait_for(lambda: causes <= notified("resolved"), "its end is notified")
        assert up.stop() == 0, up.log.read_text()
