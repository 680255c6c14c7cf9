"""diagnose states what it judged; a file of which it could judge nothing is not called healthy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders.command_line import Command
from builders.ping_documents import START_NS, ping
from builders.simulated_files import SECONDS

from testbed.simulator.files import Written


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def coverage_of(err: str) -> dict[str, Any]:
    """The last line of standard error with --format json."""
    found: dict[str, Any] = json.loads(err.splitlines()[-1])["coverage"]
    return found


def test_a_file_of_dead_letters_is_code_2_and_says_why(command: Command, tmp_path: Path) -> None:
    bad = lines(tmp_path / "bad.ndjson", *[ping(at_s=s, latency="fast") for s in range(300)])
    done = command("diagnose", bad)
    assert (done.code, done.out) == (2, "")
    last = done.err.splitlines()[-1]
    assert last.startswith("skeletonhunter: nothing could be judged: all 300 records are dead")
    assert f"{bad}:1: latency: 'fast' is not a number" in last
    assert "judged 0 of 300 records, 0 s, 0 source hosts" in done.err
    as_json = command("diagnose", bad, "--format", "json")
    assert (as_json.code, as_json.out) == (2, "")
    assert coverage_of(as_json.err)["enough"] is False


def test_traceroutes_alone_judge_nothing(command: Command, tmp_path: Path) -> None:
    rows = [ping(at_s=s, task_type="TRACEROUTE", route='["a"]') for s in range(9)]
    done = command("diagnose", lines(tmp_path / "t.ndjson", *rows))
    assert (done.code, done.out) == (2, "")
    assert "nothing could be judged: none of 9 records is a probe that came in time" in done.err


def test_heartbeats_alone_judge_nothing(command: Command, tmp_path: Path) -> None:
    beat = json.dumps({"node_sn": "h1", "time": START_NS})
    envelope = {"topic": "skh.heartbeats", "key": "h1", "content-type": "application/json",
                "payload": beat}  # fmt: skip
    done = command("diagnose", lines(tmp_path / "agent.out", envelope))
    assert done.code == 2
    assert "there are no ping records, only 1 heartbeat;" in done.err


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ([ping()], ["loss needs 6 s (1 s judged) and 3 source hosts (1 seen)"]),
        ([ping(h) for h in range(4)], ["loss needs 6 s (1 s judged)"]),
        (
            [ping(h, s) for h in range(2) for s in range(9)],
            ["loss needs 3 source hosts (2 seen)"],
        ),
        (
            [ping(h, s) for h in range(4) for s in (*range(5), -100_000)],
            ["loss needs 6 s (5 s judged)"],
        ),
    ],
    ids=["one record", "one second", "two hosts", "a second of another day"],
)
def test_too_little_is_not_enough_to_judge_in_words_and_in_json(
    command: Command, tmp_path: Path, rows: list[dict[str, Any]], missing: list[str]
) -> None:
    file = lines(tmp_path / "few.ndjson", *rows)
    done = command("diagnose", file)
    assert done.out.startswith(f"not enough to judge: {missing[0]}; latency needs ")
    assert "no incidents" not in done.out
    assert done.code == 0, "something was judged"
    as_json = command("diagnose", file, "--format", "json")
    assert as_json.out == "", "one incident a line, and nothing else"
    document = coverage_of(as_json.err)
    assert document["enough"] is False
    (fabric,) = document["fabrics"].values()
    assert fabric["detectors"]["loss"] == {"enough": False, "missing": missing[0]}


def test_a_clean_file_is_no_incidents_with_its_coverage(command: Command, small: Written) -> None:
    done = command(
        "diagnose", small.pings, "--topology", small.topology, "--heartbeats", small.heartbeats
    )
    assert (done.code, done.out) == (0, "no incidents\n")
    count = f"{small.records:,}"
    assert f"judged {count} of {count} records, {SECONDS} s, 8 source hosts; all " in done.err
    assert " links and components are crossed\n" in done.err
    assert f"not enough to judge: latency needs 60 s ({SECONDS} s judged)" in done.err
    document = coverage_of(command("diagnose", small.pings, "--format", "json").err)
    assert document["enough"] is True
    assert document["seconds"] == SECONDS
    assert document["not_crossed"] is None, "without a topology it is not known"
    assert document["records"]["judged"] == small.records


def test_records_without_a_latency_are_not_enough_for_latency_and_drift(
    command: Command, tmp_path: Path
) -> None:
    rows = [ping(h, s, latency=None, rtt=12.0) for h in range(4) for s in range(9)]
    done = command("diagnose", lines(tmp_path / "renamed.ndjson", *rows), "--format", "json")
    lacks = "latencies (no record has a latency)"
    assert "not enough to judge: latency needs " in done.err
    assert (
        "note: columns that are not used: rtt; no record has a latency: if rtt is it, give "
        "--map rtt=latency\n" in done.err
    )
    (fabric,) = coverage_of(done.err)["fabrics"].values()
    found = {name: each["missing"] or "" for name, each in fabric["detectors"].items()}
    assert lacks in found["latency"]
    assert lacks in found["drift"]
    assert fabric["detectors"]["loss"]["enough"]
    mapped = command("diagnose", tmp_path / "renamed.ndjson", "--map", "rtt=latency")
    assert "no record has a latency" not in mapped.err


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
    done = command("diagnose", small.pings, "--topology", wider, "--format", "json")
    dark = coverage_of(done.err)["not_crossed"]
    assert dark["count"] == 4
    assert dark["first"] == [
        "link:rnic:10.9.9.9|tor:asw-dark", f"link:spine:{spine}|tor:asw-dark", "rnic:10.9.9.9",
        "tor:asw-dark",
    ]  # fmt: skip
    assert f"4 of {dark['of']} links and components never crossed: link:rnic:10.9.9.9" in done.err


def test_links_that_only_probes_of_unknown_routes_may_cross_are_named(
    command: Command, small: Written, tmp_path: Path
) -> None:
    spine = next(
        each["id"]
        for each in json.loads(small.topology.read_text())["switches"]
        if each["tier"] == "dsw"
    )
    rows = Path(small.pings).read_text().splitlines(keepends=True)
    partly = tmp_path / "partly-traced.ndjson"
    partly.write_text("".join(row for row in rows if spine not in row))
    done = command("diagnose", partly, "--topology", small.topology)
    (line,) = [each for each in done.err.splitlines() if "no probe whose route is known" in each]
    assert f"link:spine:{spine}|tor:" in line
    assert "links and components are crossed" in done.err
    whole = command("diagnose", small.pings, "--topology", small.topology, "--format", "json")
    assert coverage_of(whole.err)["untraced_links"] == []


def test_the_help_says_where_coverage_is(command: Command) -> None:
    done = " ".join(command("diagnose", "--help").out.split())
    assert '{"coverage": {...}}' in done
    assert "not enough to judge" in done
