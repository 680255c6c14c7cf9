"""Compressed files, globs, columns of other names, a part of the time: the same records."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from builders.command_line import Command
from pyarrow import csv, parquet

from skeletonhunter.diagnosis import ping_files
from skeletonhunter.diagnosis.files import column_map, compressed
from skeletonhunter.errors import BadInput
from testbed.simulator.files import Written

START = 1_767_225_600_000_000_000  # of the small cluster's records


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


def rows_of(path: Path, *pairs: str, columns: Path | None = None) -> int:
    blocks = ping_files.read(str(path), column_map.read(columns, pairs))
    return sum(block.batch.num_rows for block in blocks)


@pytest.mark.parametrize(("suffix", "packed"), [("gz", gzip.compress), ("zst", zstd)])
def test_a_compressed_file_gives_what_the_plain_one_gives(
    command: Command, small: Written, tmp_path: Path, suffix: str, packed: type[bytes]
) -> None:
    file = tmp_path / f"pings.ndjson.{suffix}"
    file.write_bytes(packed(small.pings.read_bytes()))
    plain, compact = command("diagnose", small.pings), command("diagnose", file)
    assert (compact.code, compact.out, compact.err) == (plain.code, plain.out, plain.err)


def test_members_of_a_gzip_file_are_read_one_after_another(small: Written, tmp_path: Path) -> None:
    file = tmp_path / "rotated.gz"
    file.write_bytes(2 * gzip.compress(small.pings.read_bytes()))
    assert rows_of(file) == 2 * rows_of(small.pings)


def test_a_compressed_file_is_recognized_on_standard_input(
    command: Command, small: Written
) -> None:
    done = command("diagnose", "-", stdin=gzip.compress(small.pings.read_bytes()))
    assert f"read {small.records}, judged {small.records}" in done.err


def test_a_file_that_expands_beyond_all_records_is_refused(
    command: Command, tmp_path: Path
) -> None:
    bomb = tmp_path / "bomb.zst"
    bomb.write_bytes(zstd(bytes(compressed.DEFAULT.free_bytes * 2)))
    done = command("diagnose", bomb)
    assert done.code == 2
    assert f"{bomb}: expands to more than 200 times its size" in done.error_line


def test_a_cut_file_is_one_line(command: Command, small: Written, tmp_path: Path) -> None:
    file = tmp_path / "cut.gz"
    file.write_bytes(gzip.compress(small.pings.read_bytes())[:5000])
    assert f"{file}: corrupt gzip: " in command("diagnose", file).error_line


def test_a_glob_stands_for_the_files_that_match(
    command: Command, small: Written, tmp_path: Path
) -> None:
    first, *others = small.pings.read_bytes().splitlines(keepends=True)
    (tmp_path / "day" / "a").mkdir(parents=True)
    (tmp_path / "day" / "a" / "1.ndjson").write_bytes(first)
    (tmp_path / "day" / "2.ndjson").write_bytes(b"".join(others))
    done = command("diagnose", tmp_path / "day" / "**" / "*.ndjson")
    assert f"read {small.records}, judged {small.records}" in done.err
    assert "no file matches" in command("diagnose", tmp_path / "night*.csv").error_line


def test_a_file_whose_name_looks_like_a_glob_is_that_file(
    command: Command, small: Written, tmp_path: Path
) -> None:
    file = tmp_path / "pings[1].ndjson"
    file.write_bytes(small.pings.read_bytes())
    assert f"read {small.records}" in command("diagnose", file).err


def test_only_records_of_the_time_asked_for_are_judged(command: Command, small: Written) -> None:
    done = command(
        "diagnose", small.pings, "--since", "2026-01-01T00:00:03",
        "--until", "2026-01-01T01:00:09+01:00",
    )  # fmt: skip
    assert "coverage: judged" in done.err
    assert ", 6 s, 8 source hosts" in done.err
    assert "records outside of --since and --until are left out" in done.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--since", "yesterday"], "--since yesterday: no time; write 2026-01-31T12:00:00Z"),
        (["--since", "2026-01-02", "--until", "2026-01-01"], "is not before --until"),
        (["--map", "latency"], "--map latency: write THEIRS=OURS"),
        (["--map", "a=latancy"], "latancy is no column of a ping record; did you mean latency?"),
        (["--columns", "absent.toml"], "--columns absent.toml: No such file"),
    ],
)
def test_an_unusable_option_is_one_line(
    command: Command, small: Written, arguments: list[str], complaint: str
) -> None:
    done = command("diagnose", small.pings, *arguments)
    assert done.code == 2
    assert complaint in done.error_line


@pytest.fixture
def foreign(small: Written, tmp_path: Path) -> dict[str, Path]:
    """The small cluster's records as another tool might write them: other names, round trips in
    seconds, times as text, no layer; and the map."""
    records = [json.loads(line) for line in small.pings.read_bytes().splitlines()]
    rows = [
        {
            "from": r["src_ip"], "to": r["dst_ip"], "sport": r["src_port"], "dport": r["dst_port"],
            "host": r["src_node_sn"], "kind": r["task_type"], "result": r["dial"],
            "when": f"2026-01-01T00:00:{(r['ping_time'] - START) / 1e9:09.6f}+00:00",
            "rtt_s": r["latency"] / 1e6 if r.get("latency") is not None else None,
        }
        for r in records if r["agent_type"] == "underlay" and r["task_type"] != "TRACEROUTE"
    ]  # fmt: skip
    table = pa.Table.from_pylist(rows)
    csv.write_csv(table, tmp_path / "f.csv")
    parquet.write_table(table, tmp_path / "f.parquet")
    (tmp_path / "f.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "f.json").write_text(json.dumps(rows))
    columns = tmp_path / "columns.toml"
    columns.write_text(
        'src_ip = "from"\ndst_ip = "to"\nsrc_port = "sport"\ndst_port = "dport"\n'
        'src_node_sn = "host"\ntask_type = "kind"\ndial = "result"\nping_time = "when"\n'
        'latency = { from = "rtt_s", times = 1_000_000 }\nagent_type = { value = "underlay" }\n'
    )
    return {
        "columns": columns,
        **{k: tmp_path / f"f.{k}" for k in ("csv", "parquet", "ndjson", "json")},
    }


@pytest.mark.parametrize("form", ["csv", "parquet", "ndjson", "json"])
def test_columns_of_other_names_and_units_are_mapped(
    foreign: dict[str, Path], small: Written, form: str
) -> None:
    mapped = column_map.read(foreign["columns"])
    blocks = list(ping_files.read(str(foreign[form]), mapped))
    assert [letter for block in blocks for letter in block.dead_letters] == []
    found = pa.Table.from_batches([block.batch for block in blocks]).to_pylist()
    wanted = [
        json.loads(line) for line in small.pings.read_bytes().splitlines()
        if b'"underlay"' in line and b"TRACEROUTE" not in line
    ]  # fmt: skip
    assert len(found) == len(wanted)
    for got, want in zip(found, wanted, strict=True):
        assert got["src_ip"] == want["src_ip"]
        assert got["agent_type"] == "underlay"
        assert abs(got["ping_time"] - want["ping_time"]) < 1000, "the text has microseconds"
        assert got["latency"] == pytest.approx(want.get("latency"))


def test_a_wrong_line_of_a_mapped_file_is_a_dead_letter_with_its_number(
    foreign: dict[str, Path],
) -> None:
    lines = foreign["csv"].read_text().splitlines()
    foreign["csv"].write_text("\n".join([*lines[:3], "one,two", *lines[3:5]]) + "\n")
    (block,) = ping_files.read(str(foreign["csv"]), column_map.read(foreign["columns"]))
    assert [str(each) for each in block.dead_letters] == [
        f"{foreign['csv']}:4: 2 fields where the header has 9"
    ]
    assert block.batch.num_rows == 4


def test_a_pair_renames_one_column(small: Written, tmp_path: Path) -> None:
    renamed = tmp_path / "renamed.ndjson"
    renamed.write_bytes(small.pings.read_bytes().replace(b'"src_ip"', b'"source"'))
    assert rows_of(renamed) == 0
    assert rows_of(renamed, "source=src_ip") == rows_of(small.pings)


def test_a_column_to_map_that_a_file_lacks_is_one_line(
    command: Command, foreign: dict[str, Path]
) -> None:
    done = command("diagnose", foreign["csv"], "--columns", foreign["columns"], "--map", "x=dscp")
    assert done.code == 2
    assert "f.csv: no column x to read dscp from; there are from, to, " in done.error_line
    done = command("diagnose", foreign["parquet"], "--map", "reslt=dial")
    assert "f.parquet: no column reslt to read dial from; did you mean result?" in done.error_line


def test_times_in_another_unit_are_one_line(
    command: Command, small: Written, tmp_path: Path
) -> None:
    records = [json.loads(line) for line in small.pings.read_bytes().splitlines()]
    wrong = tmp_path / "ms.ndjson"
    wrong.write_text(
        "".join(json.dumps({**r, "ping_time": r["ping_time"] // 10**6}) + "\n" for r in records)
    )
    done = command("diagnose", wrong)
    assert done.code == 2
    assert "is in ms, and has to be in ns since the epoch: write" in done.error_line
    columns = tmp_path / "c.toml"
    columns.write_text(done.error_line.partition("write ")[2].partition(" into")[0])
    done = command("diagnose", wrong, "--columns", columns)
    assert f"judged {len(records):,} of" in done.err


def test_a_time_without_records_says_when_records_were_sent(
    command: Command, small: Written
) -> None:
    done = command("diagnose", small.pings, "--since", "2030-01-01")
    assert done.code == 2
    assert "nothing could be judged: all 3,904 valid records are outside of --since" in done.err
    assert "; records were sent from 2026-01-01T00:00:00Z to 2026-01-01T00:00:" in done.err


def test_a_column_map_that_says_neither_name_nor_value_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("latency = { form = 1 }\n")
    with pytest.raises(BadInput, match=r"latency: write  ping_time = "):
        column_map.read(file)
