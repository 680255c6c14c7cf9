"""The cheapest faults of ``make chaos-test``: Apache Kafka, worker, sink and store as processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.chaos.faults import FAULTS, Fault
from evaluation.chaos.run import play
from testbed.services import kafka_server

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.heavy]


@pytest.mark.parametrize("fault", [each for each in FAULTS if each.fast], ids=lambda f: f.name)
def test_every_record_is_accounted_for_and_incidents_are_as_undisturbed(
    fault: Fault, tmp_path: Path
) -> None:
    if why := kafka_server.missing() or fault.needs():
        pytest.skip(why)
    outcome = play(fault, tmp_path)
    logs = {log.name: log.read_text()[-500:] for log in tmp_path.glob("*.log")}
    assert outcome.problems == [], (outcome, logs)
