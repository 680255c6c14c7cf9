"""diagnose as a user types it: files in, incidents and exit codes out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from builders.command_line import Command

SAMPLES = Path(__file__).parents[2] / "data" / "samples.csv"
BROKEN = Path(__file__).parents[2] / "data" / "samples-broken.csv"


def test_three_records_of_the_published_schema_are_too_few_to_judge(command: Command) -> None:
    done = command("diagnose", SAMPLES)
    assert done.code == 0
    assert done.out.startswith(
        "not enough to judge: loss needs 6 s (2 s judged) and 3 source hosts"
    )
    assert "read 3, judged 3, late 0, duplicate 0, dead-lettered 0" in done.err


def test_a_broken_line_costs_that_line_and_is_named(command: Command) -> None:
    done = command("diagnose", BROKEN)
    assert done.code == 0, "dead letters do not change the code"
    assert "read 3, judged 2, late 0, duplicate 0, dead-lettered 1" in done.err
    assert f"{BROKEN}:3: latency:" in done.err


def test_standard_input_is_a_file_too(command: Command) -> None:
    done = command("diagnose", "-", "--format", "json", stdin=SAMPLES.read_bytes())
    assert (done.code, done.out) == (0, "")
    assert "read 3, judged 3" in done.err


def test_a_file_that_is_given_twice_is_counted_as_duplicates(command: Command) -> None:
    done = command("diagnose", SAMPLES, SAMPLES)
    assert "read 6, judged 3, late 0, duplicate 3, dead-lettered 0" in done.err


def test_a_line_of_100_mb_is_one_dead_letter_and_costs_no_memory(
    command: Command, tmp_path: Path
) -> None:
    header, *records = SAMPLES.read_bytes().splitlines(keepends=True)
    long = tmp_path / "long.csv"
    with long.open("wb") as file:
        file.write(header + records[0])
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + records[1])
    done = command("diagnose", long)
    assert done.code == 0
    assert f"{long}:3: line is longer than" in done.err
    assert "read 3, judged 2, late 0, duplicate 0, dead-lettered 1" in done.err


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "No such file or directory; give a readable file"),
        (b"", "no ping records; the file is empty"),
        (b"\xef\xbb\xbf\n", "no ping records; the file is empty"),
        (b"a,b,c\n1,2,3\n", "header lacks the columns agent_type"),
        (b"PAR1 not really", "corrupt Parquet"),
        (b"\xff\xff\xff\xff\x10\x00", "corrupt Arrow stream"),
        (b"[1, 2", "not a JSON array"),
    ],
)
def test_an_unreadable_file_is_one_line_and_code_2(
    command: Command, tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    file = tmp_path / "input"
    if content is not None:
        file.write_bytes(content)
    done = command("diagnose", file)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert str(file) in done.err
    assert complaint in done.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--strategy", "guess"], "no strategy named 'guess'; choose one of deepview"),
        (["--topology", "absent.json"], "absent.json"),
        (["--heartbeats", "absent.ndjson"], "absent.ndjson"),
        (["--placement", "absent.ndjson"], "absent.ndjson"),
        (["--maintenance", SAMPLES], "samples.csv:1: "),
        (["--explain", "zzz"], "no incidents have an id that begins so; there are: none"),
    ],
)
def test_an_unusable_option_is_one_line_and_code_2(
    command: Command, arguments: list[str], complaint: str
) -> None:
    done = command("diagnose", SAMPLES, *arguments)
    assert done.code == 2
    assert complaint in done.err


def test_ndjson_arrow_and_parquet_give_what_csv_gives(command: Command, tmp_path: Path) -> None:
    counts = set()
    for form in ("csv", "ndjson", "parquet", "arrow"):
        place = tmp_path / form
        command("simulate", "small", "--out", place, "--duration", "6", "--format", form)
        done = command("diagnose", next(place.glob("pings.*")))
        assert "late 0, duplicate 0, dead-lettered 0" in done.err
        counts.add(done.err)
    assert len(counts) == 1


def test_a_broken_nic_is_named_explained_and_scored(command: Command, tmp_path: Path) -> None:
    scenario = tmp_path / "one.toml"
    scenario.write_text(
        'proves = "a NIC goes down"\nduration_s = 40\n[fabric]\nname = "f"\nhosts = 8\nrails = 2\n'
        'hosts_per_segment = 4\n[[faults]]\nkind = "rnic_down"\ncomponent = "any rnic"\nat = 20\n'
    )
    place = tmp_path / "out"
    assert command("simulate", scenario, "--seed", "3", "--out", place).code == 0
    broken = json.loads((place / "truth.json").read_text())[0]["component"]
    given = [place / "pings.parquet", "--topology", place / "topology.json"]
    given += ["--heartbeats", place / "heartbeats.ndjson"]

    as_json = command("diagnose", *given, "--format", "json")
    assert as_json.code == 1, "a network incident was found"
    found = [json.loads(line) for line in as_json.out.splitlines()]
    assert [incident["component"] for incident in found] == [broken]
    assert found[0]["closed_at"] is None, "it lasts"

    table = command("diagnose", *given)
    assert broken in table.out
    assert "bad paths cross" in table.out

    explained = command("diagnose", *given, "--explain", found[0]["incident_id"][:6])
    assert "probes cannot tell these apart" in explained.out

    work = tmp_path / "work.ndjson"
    work.write_text(json.dumps({
        "component": broken, "from": "2000-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z",
        "reason": "cable swap", "fabric": "f",
    }))  # fmt: skip
    quiet = command("diagnose", *given, "--maintenance", work)
    assert (quiet.code, quiet.out) == (0, "no incidents\n")
    assert f"{broken} is under maintenance: cable swap" in quiet.err

    incidents = tmp_path / "incidents.jsonl"
    incidents.write_text(as_json.out)
    score = command("check", "score", place, incidents)
    assert (score.code, "1 of 1 faults found" in score.out) == (0, True)
    incidents.write_text("")
    assert command("check", "score", place, incidents).code == 1, "a missed fault is found out"
