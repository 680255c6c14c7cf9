"""Two controllers of the same topics: one answers, the other stands by and takes over."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from builders.controller.controller_service import OPERATOR

from ..conftest import Broker, Command
from .test_controller_service import (
    JOB,
    LONG_S,
    TOPOLOGY,
    controller_command,
    publish_topology,
    said,
    write_tokens,
)


class Running:
    """A controller that may stand by."""

    def __init__(self, run: Callable[..., Command], broker: Broker, tokens: Path) -> None:
        self.command = controller_command(run, broker, tokens)
        self.health = httpx.Client(
            base_url=said(self.command, r"health and metrics (http://\S+/)"), timeout=LONG_S
        )
        self.operator = httpx.Client(
            base_url=said(self.command, r"controller (http://\S+/)"), timeout=LONG_S,
            headers={"Authorization": f"Bearer {OPERATOR}"},
        )  # fmt: skip

    @property
    def ready(self) -> bool:
        return self.health.get("/readyz").status_code == 200

    def close(self) -> None:
        self.health.close()
        self.operator.close()


def leader_of(controllers: list[Running]) -> Running:
    """The one that answers, once there is one; never two."""
    deadline = time.monotonic() + LONG_S
    while time.monotonic() < deadline:
        ready = [each for each in controllers if each.ready]
        assert len(ready) < 2, "two controllers lead"
        if ready:
            return ready[0]
        time.sleep(0.1)  # between two looks at a condition with a deadline
    pytest.fail("none leads")


@pytest.mark.kafka  # the embedded broker gives skh.jobs four partitions, and moves them
def test_when_the_leader_dies_the_other_goes_on_with_its_jobs(
    apache: Broker, run: Callable[..., Command], tmp_path: Path
) -> None:
    tokens = write_tokens(tmp_path)
    publish_topology(apache, TOPOLOGY)
    first = Running(run, apache, tokens)
    assert leader_of([first]) is first
    second = Running(run, apache, tokens)
    answer = second.operator.get("/api/v1/jobs")
    assert answer.status_code == 503
    assert "this controller does not lead" in answer.json()["detail"]
    assert first.operator.post("/api/v1/jobs", json=JOB).status_code == 201
    first.close()
    first.command.stop(signal.SIGKILL)
    assert leader_of([second]) is second
    assert [each["job"]["job"] for each in second.operator.get("/api/v1/jobs").json()] == ["job-a"]
    second.close()
    assert second.command.stop() == 0
