"""Kafka is stopped for a while and the agent's process is killed meanwhile: nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.bench.agent.outage import everything
from streams.kafka import admin as kafka_topics
from testbed.services import kafka_server

#: Publishes the numbers of each line that it reads, and says how many messages are left on disk.
_AGENT = """
import sys
from probers.publishing.destination import publish_to
publisher = publish_to("kafka:" + sys.argv[1], spool=sys.argv[2])
publisher.connect(5.0)
for line in sys.stdin:
    for number in range(*map(int, line.split())):
        body = b"%d %d" % (number, number + 1)
        publisher.publish("skh.pings", "h1", body, "application/x-ndjson")
    publisher.poll()
    print(publisher.left, flush=True)
"""


class Agent:
    """A process with a spool."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _AGENT, bootstrap, str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def publish(self, first: int = 0, end: int = 0) -> int:
        """Publish the numbers and poll; returns how many messages are left."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{first} {end}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def until(self, enough: Callable[[int], bool]) -> None:
        deadline = time.monotonic() + 120
        while not enough(left := self.publish()):
            assert time.monotonic() < deadline, left
            time.sleep(0.1)  # between two looks at a condition with a deadline


@pytest.mark.kafka
def test_an_outage_of_kafka_and_of_the_agent_costs_nothing(tmp_path: Path) -> None:
    if why := kafka_server.missing():
        pytest.skip(why)
    (tmp_path / "kafka").mkdir()
    server = kafka_server.KafkaServer(tmp_path / "kafka")
    agents = []
    try:
        kafka_topics.create({"bootstrap.servers": server.bootstrap})
        agents.append(first := Agent(server.bootstrap, tmp_path / "spool"))
        first.publish(0, 50)
        first.until(lambda left: left == 0)
        server.stop()
        assert first.publish(50, 400) == 350
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(60)

        agents.append(second := Agent(server.bootstrap, tmp_path / "spool"))  # Kafka is away
        assert second.publish(400, 500) == 450
        server.start()
        second.until(lambda left: left == 0)
        found = {each.first: each.kept for each in everything(server.bootstrap)}
    finally:
        server.stop()
        for each in agents:
            each.process.kill()
            each.process.communicate()
    assert sorted(set(found)) == list(range(500))
    later = [number for number, kept in found.items() if kept]
    assert later == sorted(later)
    assert later[0] == 50
