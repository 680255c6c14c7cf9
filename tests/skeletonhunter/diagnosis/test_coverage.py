"""diagnose states what it judged; a file of which it could judge nothing is not called healthy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders.command_line import SECONDS, Command

from skeletonhunter.diagnosis import ping_files
from testbed.simulator.files import Written

TIME_NS = 1_767_225_600_000_000_000


def ping(host: int = 0, at_s: int = 0, **changes: Any) -> dict[str, Any]:
    """A record of one probe to the next host."""
    ends = {
        f"{end}_{name}": value
        for end, number in (("src", host), ("dst", host + 1))
        for name, value in (
            ("ip", f"10.0.0.{number}"), ("node_sn", f"h{number}"), ("real_ip", f"10.0.0.{number}"),
        )
    }  # fmt: skip
    return {
        **ends, "agent_type": "underlay", "dial": "success", "task_type": "UDP_PING",
        "latency": 12.0, "ping_time": TIME_NS + at_s * 10**9, "src_port": 50_000, **changes,
    }  # fmt: skip


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def coverage_of(err: str) -> dict[str, Any]:
    """The last line of standard error with --format json."""
    found: dict[str, Any] = json.loads(err.splitlines()[-1])["coverage"]
    return found


def test_a_file_of_dead_letters_is_code_2_and_says_why(command: Command, tmp_path: Path) -> None:
    bad = lines(tmp_path / "bad.ndjson", *[ping(at_s=s, latency="fast") for s in range(300)])
    said = command("diagnose", bad)
    assert (said.code, said.out) == (2, "")
    last = said.err.splitlines()[-1]
    assert last.startswith("skeletonhunter: nothing could be judged: all 300 records are dead")
    assert f"{bad}:1: latency: 'fast' is not a number" in last
    assert "judged 0 of 300 records, 0 s, 0 source hosts" in said.err
    as_json = command("diagnose", bad, "--format", "json")
    assert (as_json.code, as_json.out) == (2, "")
    assert coverage_of(as_json.err)["enough"] is False


def test_traceroutes_alone_judge_nothing(command: Command, tmp_path: Path) -> None:
    rows = [ping(at_s=s, task_type="TRACEROUTE", route='["a"]') for s in range(9)]
    said = command("diagnose", lines(tmp_path / "t.ndjson", *rows))
    assert (said.code, said.out) == (2, "")
    assert "nothing could be judged: none of 9 records is a probe that came in time" in said.err


def test_heartbeats_alone_judge_nothing(command: Command, tmp_path: Path) -> None:
    beat = json.dumps({"node_sn": "h1", "time": TIME_NS})
    envelope = {"topic": "skh.heartbeats", "key": "h1", "content-type": "application/json",
                "payload": beat}  # fmt: skip
    said = command("diagnose", lines(tmp_path / "agent.out", envelope))
    assert said.code == 2
    assert "there are no ping records, only 1 heartbeat;" in said.err


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ([ping()], ["loss needs 6 s (1 s judged) and 3 source hosts (1 seen)"]),
        ([ping(h) for h in range(4)], ["loss needs 6 s (1 s judged)"]),
        (
            [ping(h, s) for h in range(2) for s in range(9)],
            ["loss needs 3 source hosts (2 seen)"],
        ),
    ],
    ids=["one record", "one second", "two hosts"],
)
def test_too_little_is_not_enough_to_judge_in_words_and_in_json(
    command: Command, tmp_path: Path, rows: list[dict[str, Any]], missing: list[str]
) -> None:
    file = lines(tmp_path / "few.ndjson", *rows)
    said = command("diagnose", file)
    assert said.out.startswith(f"not enough to judge: {missing[0]}; latency needs ")
    assert "no incidents" not in said.out
    assert said.code == 0, "something was judged"
    as_json = command("diagnose", file, "--format", "json")
    assert as_json.out == "", "one incident a line, and nothing else"
    told = coverage_of(as_json.err)
    assert told["enough"] is False
    (fabric,) = told["fabrics"].values()
    assert fabric["detectors"]["loss"] == {"enough": False, "missing": missing[0]}


def test_a_clean_file_is_no_incidents_with_its_coverage(command: Command, small: Written) -> None:
    said = command(
        "diagnose", small.pings, "--topology", small.topology, "--heartbeats", small.heartbeats
    )
    assert (said.code, said.out) == (0, "no incidents\n")
    count = f"{small.records:,}"
    assert f"judged {count} of {count} records, {SECONDS} s, 8 source hosts; 0 of " in said.err
    assert f"not enough to judge: latency needs 60 s ({SECONDS} s judged)" in said.err
    told = coverage_of(command("diagnose", small.pings, "--format", "json").err)
    assert told["enough"] is True
    assert told["seconds"] == SECONDS
    assert told["not_crossed"] is None, "without a topology it is not known"
    assert told["records"]["judged"] == small.records


def test_links_and_components_that_no_probe_crosses_are_named(
    command: Command, small: Written, tmp_path: Path
) -> None:
    document = json.loads(small.topology.read_text())
    document["switches"].append({"id": "asw-dark", "tier": "asw"})
    spine = next(each["id"] for each in document["switches"] if each["tier"] == "dsw")
    document["links"].append(["asw-dark", spine])
    document["hosts"].append(
        {"node_sn": "host-dark", "rnics": [{"real_ip": "10.9.9.9", "asw": "asw-dark"}]}
    )
    wider = tmp_path / "topology.json"
    wider.write_text(json.dumps(document))
    said = command("diagnose", small.pings, "--topology", wider, "--format", "json")
    dark = coverage_of(said.err)["not_crossed"]
    assert dark["count"] == 4
    assert dark["first"] == [
        "link:rnic:10.9.9.9|tor:asw-dark", f"link:spine:{spine}|tor:asw-dark", "rnic:10.9.9.9",
        "tor:asw-dark",
    ]  # fmt: skip
    assert f"4 of {dark['of']} links and components never crossed: link:rnic:10.9.9.9" in said.err


@pytest.mark.parametrize("encoding", ["arrow", "ndjson"])
def test_what_agents_publish_to_a_file_is_read_with_their_heartbeats(
    command: Command, small: Written, tmp_path: Path, encoding: str
) -> None:
    from probers.publishing.file import FilePublisher
    from schemas import topics
    from schemas.wire import codecs

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
    said = command("diagnose", file, "--topology", small.topology)
    assert (said.code, said.out) == (0, "no incidents\n")
    assert f"judged {small.records:,} of {small.records + 1:,} records, {SECONDS} s" in said.err
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


def test_the_help_says_where_coverage_is(command: Command) -> None:
    said = " ".join(command("diagnose", "--help").out.split())
    assert '{"coverage": {...}}' in said
    assert "not enough to judge" in said
