"""Files that ``skeletonhunter-agent --publish file:`` writes: records and heartbeats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from builders.command_line import Command
from builders.ping_documents import ping
from builders.simulated_files import SECONDS

from probers.publishing.file import FilePublisher
from schemas import topics
from schemas.wire import codecs
from skeletonhunter.diagnosis import ping_files
from testbed.simulator.files import Written


@pytest.mark.parametrize("encoding", ["arrow", "ndjson"])
def test_what_agents_publish_to_a_file_is_read_with_their_heartbeats(
    command: Command, small: Written, tmp_path: Path, encoding: str
) -> None:
    file = tmp_path / "agent.out"
    publisher = FilePublisher(str(file))
    publisher.connect(1.0)
    kind, encode = topics.ARROW, codecs.encode_arrow
    if encoding == "ndjson":
        kind, encode = topics.NDJSON, codecs.encode_ndjson
    for block in ping_files.read(str(small.pings)):
        for at in range(0, block.batch.num_rows, 512):
            publisher.publish(topics.PINGS.name, "h", encode(block.batch.slice(at, 512)), kind)
    for beat in small.heartbeats.read_bytes().splitlines():
        publisher.publish(topics.HEARTBEATS.name, "h", beat, topics.JSON)
    publisher.close(1.0)
    with file.open("ab") as more:
        more.write(b'{"topic":"skh.pings","key":"h","content-type":"appl')  # the agent was killed
    (bad,) = [letter for block in ping_files.read(str(file)) for letter in block.dead_letters]
    assert "not a message of an agent" in str(bad)
    beats = [beat for block in ping_files.read(str(file)) for beat in block.heartbeats]
    assert len(beats) == small.beats
    done = command("diagnose", file, "--topology", small.topology)
    assert (done.code, done.out) == (0, "no incidents\n")
    assert f"judged {small.records:,} of {small.records + 1:,} records, {SECONDS} s" in done.err
    alone = command("diagnose", small.pings, "--heartbeats", file)
    assert alone.code == 0, "the same file serves as heartbeats"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"topic":"skh.pings","key":"h","content-type":"a/b","payload":"AAAA"}', "is not known"),
        ('{"topic":"skh.pings","key":"h","content-type":"a/b","payload":"%%"}', "payload: "),
        ('{"topic":"skh.other","key":"h","content-type":"application/json","payload":""}',
         "holds neither ping records nor heartbeats"),
        ('{"topic":"skh.heartbeats","key":"h","content-type":"application/json","payload":"{}"}',
         "missing required field"),
        ('{"topic":"skh.pings","payload":7}', "Expected `str`"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_message_costs_that_line(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "agent.out"
    good = {"topic": "skh.pings", "key": "h", "content-type": "application/x-ndjson",
            "payload": json.dumps(ping())}  # fmt: skip
    file.write_text(f"{line}\n{json.dumps(good)}\n")
    blocks = list(ping_files.read(str(file)))
    (dead,) = [letter for block in blocks for letter in block.dead_letters]
    assert (dead.line, reason in dead.reason) == (1, True), dead.reason
    assert sum(block.batch.num_rows for block in blocks) == 1
