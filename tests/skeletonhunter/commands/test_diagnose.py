"""diagnose, simulate and check as a user types them: files in, incidents and exit codes out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pyarrow as pa
import pytest
from builders.command_line import CommandResult

from skeletonhunter import cli
from skeletonhunter.diagnosis import ping_files

SAMPLES = Path(__file__).parents[2] / "data" / "samples.csv"
BROKEN = Path(__file__).parents[2] / "data" / "samples-broken.csv"


def run(*arguments: str | Path, stdin: bytes = b"") -> CommandResult:
    """The command in this process, with other standard streams."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        with pytest.raises(SystemExit) as left:
            cli.main(list(map(str, arguments)))
    assert isinstance(left.value.code, int)
    return CommandResult(left.value.code, out.getvalue(), err.getvalue())


def run_apart(*arguments: str) -> CommandResult:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "skeletonhunter", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, timeout=600)
    return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_the_published_schema_three_records_which_are_too_few_to_judge() -> None:
    said = run("diagnose", SAMPLES)
    assert said.code == 0
    assert said.out.startswith(
        "not enough to judge: loss needs 6 s (2 s judged) and 3 source hosts"
    )
    assert "read 3, judged 3, late 0, duplicate 0, dead-lettered 0" in said.err


def test_a_broken_line_costs_that_line_and_is_named() -> None:
    said = run("diagnose", BROKEN)
    assert said.code == 0, "dead letters do not change the code"
    assert "read 3, judged 2, late 0, duplicate 0, dead-lettered 1" in said.err
    assert f"{BROKEN}:3: latency:" in said.err


def test_standard_input_is_a_file_too() -> None:
    said = run("diagnose", "-", "--format", "json", stdin=SAMPLES.read_bytes())
    assert (said.code, said.out) == (0, "")
    assert "read 3, judged 3" in said.err


def test_a_file_that_is_given_twice_is_counted_as_duplicates() -> None:
    said = run("diagnose", SAMPLES, SAMPLES)
    assert "read 6, judged 3, late 0, duplicate 3, dead-lettered 0" in said.err


def test_a_line_of_100_mb_is_one_dead_letter_and_costs_no_memory(tmp_path: Path) -> None:
    header, *records = SAMPLES.read_bytes().splitlines(keepends=True)
    long = tmp_path / "long.csv"
    with long.open("wb") as file:
        file.write(header + records[0])
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + records[1])
    said = run("diagnose", long)
    assert said.code == 0
    assert f"{long}:3: line is longer than" in said.err
    assert "read 3, judged 2, late 0, duplicate 0, dead-lettered 1" in said.err


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
def test_what_cannot_be_read_is_one_line_and_code_2(
    tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    file = tmp_path / "input"
    if content is not None:
        file.write_bytes(content)
    said = run("diagnose", file)
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert str(file) in said.err
    assert complaint in said.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--strategy", "guess"], "no strategy named 'guess'; choose one of deepview"),
        (["--topology", "absent.json"], "absent.json"),
        (["--heartbeats", "absent.ndjson"], "absent.ndjson"),
        (["--placement", "absent.ndjson"], "absent.ndjson"),
        (["--maintenance", SAMPLES], "samples.csv:1: "),
        (["--explain", "zzz"], "names 0 incidents"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_line_and_code_2(
    arguments: list[str], complaint: str
) -> None:
    said = run("diagnose", SAMPLES, *arguments)
    assert said.code == 2
    assert complaint in said.err


def test_simulate_tells_which_scenarios_there_are_and_what_they_prove() -> None:
    said = run("simulate", "--list")
    assert said.code == 0
    assert "demo (290 s): Five different faults" in said.out
    assert "fat-tree-sparse (260 s): The published bar" in said.out


def test_ndjson_json_arrow_and_parquet_give_what_csv_gives(tmp_path: Path) -> None:
    counts = set()
    for form in ("csv", "ndjson", "parquet", "arrow"):
        place = tmp_path / form
        run("simulate", "small", "--out", place, "--duration", "6", "--format", form)
        said = run("diagnose", next(place.glob("pings.*")))
        assert "late 0, duplicate 0, dead-lettered 0" in said.err
        counts.add(said.err)
    assert len(counts) == 1


def test_an_arrow_stream_may_be_larger_than_a_message_and_have_dictionaries(
    tmp_path: Path,
) -> None:
    rows = pa.RecordBatch.from_pylist([
        {"agent_type": "underlay", "dial": "success", "dst_ip": "10.0.0.2", "latency": 12.0,
         "ping_time": 1_790_000_000_000_000_000, "src_ip": "10.0.0.1", "task_type": "UDP_PING"},
    ]).take(pa.array([0] * 70_000))  # fmt: skip
    coded = pa.RecordBatch.from_arrays(
        [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in rows.columns],
        names=rows.schema.names,
    )
    file = tmp_path / "pings.arrow"
    with pa.ipc.new_stream(str(file), coded.schema) as writer:
        for _ in range(10):
            writer.write_batch(coded)
    assert file.stat().st_size > 16 * 1024 * 1024
    blocks = list(ping_files.read(str(file)))
    assert sum(block.batch.num_rows for block in blocks) == 700_000
    assert max(block.batch.num_rows for block in blocks) <= 65_536
    assert not any(block.dead_letters for block in blocks)


def test_a_broken_nic_is_named_explained_and_scored(tmp_path: Path) -> None:
    scenario = tmp_path / "one.toml"
    scenario.write_text(
        'proves = "a NIC goes down"\nduration_s = 40\n[fabric]\nname = "f"\nhosts = 8\nrails = 2\n'
        'hosts_per_segment = 4\n[[faults]]\nkind = "rnic_down"\ncomponent = "any rnic"\nat = 20\n'
    )
    place = tmp_path / "out"
    assert run("simulate", scenario, "--seed", "3", "--out", place).code == 0
    broken = json.loads((place / "truth.json").read_text())[0]["component"]
    given = [place / "pings.parquet", "--topology", place / "topology.json"]
    given += ["--heartbeats", place / "heartbeats.ndjson"]

    as_json = run("diagnose", *given, "--format", "json")
    assert as_json.code == 1, "a network incident was found"
    found = [json.loads(line) for line in as_json.out.splitlines()]
    assert [incident["component"] for incident in found] == [broken]
    assert found[0]["closed_at"] is None, "it lasts"

    table = run("diagnose", *given)
    assert broken in table.out
    assert "bad paths cross" in table.out

    explained = run("diagnose", *given, "--explain", found[0]["incident_id"][:6])
    assert "probes cannot tell these apart" in explained.out

    work = tmp_path / "work.ndjson"
    work.write_text(json.dumps({
        "component": broken, "from": "2000-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z",
        "reason": "cable swap", "fabric": "f",
    }))  # fmt: skip
    quiet = run("diagnose", *given, "--maintenance", work)
    assert (quiet.code, quiet.out) == (0, "no incidents\n")
    assert f"{broken} is under maintenance: cable swap" in quiet.err

    said = tmp_path / "incidents.jsonl"
    said.write_text(as_json.out)
    score = run("check", "score", place, said)
    assert (score.code, "1 of 1 faults found" in score.out) == (0, True)
    said.write_text("")
    assert run("check", "score", place, said).code == 1, "a missed fault is found out"


@pytest.mark.slow
def test_the_demo_names_all_five_and_says_so() -> None:
    said = run_apart("demo", "--headless", "--duration", "60", "--port", "0")
    assert said.code == 0, said.out + said.err
    assert said.out.startswith("page http://127.0.0.1:")
    assert "5 of 5 faults found" in said.out


def test_a_demo_too_short_for_its_scenario_says_how_long_it_takes() -> None:
    said = run("demo", "--headless", "--duration", "5")
    assert said.code == 2
    assert "needs at least" in said.err
