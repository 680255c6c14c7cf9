"""Records in other units than those of ping records are refused or noted, never judged as they are.

Files of another kind than they were given for are refused too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from builders.command_line import Command
from builders.ping_documents import ping
from pyarrow import csv, parquet

from testbed.simulator.files import Written


def written(folder: Path, form: str, rows: list[dict[str, Any]]) -> Path:
    """A file of records in a format."""
    file = folder / f"pings.{form}"
    if form == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), file)
    elif form == "csv":
        csv.write_csv(pa.Table.from_pylist(rows), file)
    elif form == "json":
        file.write_text(json.dumps(rows))
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize("form", ["csv", "ndjson", "json", "parquet"])
def test_a_loss_rate_in_percent_is_one_line_and_nothing_is_judged(
    command: Command, tmp_path: Path, form: str
) -> None:
    lost = {"dial": "timeout", "latency": None, "loss_rate": 100.0}
    rows = [ping(h, s, loss_rate=0.0) for h in range(4) for s in range(9)]
    file = written(tmp_path, form, [*rows, ping(4, **lost)])
    done = command("diagnose", file)
    assert (done.code, done.out) == (2, "")
    assert f"{file}: loss_rate 100.0 is no share of 0 to 1; if it is percent" in done.error_line
    columns = tmp_path / "c.toml"
    columns.write_text(done.error_line.partition("write ")[2].partition(" into")[0])
    assert columns.read_text() == 'loss_rate = { from = "loss_rate", times = 0.01 }'
    assert "judged 37 of 37" in command("diagnose", file, "--columns", columns).err


def test_the_line_on_percent_has_the_name_of_the_file_s_column(
    command: Command, tmp_path: Path
) -> None:
    file = written(tmp_path, "ndjson", [ping(dial="timeout", loss_percent=50)])
    done = command("diagnose", file, "--map", "loss_percent=loss_rate")
    assert 'loss_rate = { from = "loss_percent", times = 0.01 }' in done.error_line


def test_a_loss_rate_that_is_neither_share_nor_percent_is_a_dead_letter(
    command: Command, tmp_path: Path
) -> None:
    file = written(tmp_path, "ndjson", [ping(), ping(at_s=1, loss_rate=-1)])
    done = command("diagnose", file)
    assert done.code == 0
    assert f"dead letter: {file}:2: loss_rate: -1.0 is not a share" in done.err


@pytest.mark.parametrize(
    ("us", "times"), [(0.012, "1_000"), (0.000_012, "1_000_000")], ids=["ms", "s"]
)
def test_latencies_too_short_for_any_network_are_one_line(
    command: Command, tmp_path: Path, us: float, times: str
) -> None:
    file = written(tmp_path, "ndjson", [ping(h, s, latency=us) for h in range(4) for s in range(9)])
    done = command("diagnose", file)
    assert done.code == 2
    assert f"the median latency between hosts is {us:.3g} us: no round trip" in done.error_line
    columns = tmp_path / "c.toml"
    columns.write_text(done.error_line.partition("write ")[2].partition(" (")[0])
    assert columns.read_text() == f'latency = {{ from = "latency", times = {times} }}'
    assert "judged 36 of 36" in command("diagnose", file, "--columns", columns).err


def test_latencies_within_a_host_may_be_as_short(command: Command, tmp_path: Path) -> None:
    within = [ping(0, s, latency=0.1, dst_node_sn="h0") for s in range(9)]
    done = command("diagnose", written(tmp_path, "ndjson", [*within, ping()]))
    assert done.code == 0


@pytest.mark.parametrize(("us", "noted"), [(12_000.0, True), (900.0, False)])
def test_latencies_too_long_for_a_data_center_are_noted_and_judged(
    command: Command, tmp_path: Path, us: float, noted: bool
) -> None:
    done = command("diagnose", written(tmp_path, "ndjson", [ping(latency=us)]))
    assert done.code == 0
    note = 'if the column is in ns, write latency = { from = "latency", times = 0.001 } into'
    assert (note in done.err) is noted
    assert ("hosts is 12,000 us, long for a data center" in done.err) is noted


def test_latencies_of_zero_are_noted_as_not_measured(command: Command, tmp_path: Path) -> None:
    done = command("diagnose", written(tmp_path, "ndjson", [ping(latency=0)]))
    assert "note: the median latency between hosts is 0 us; leave latency out of" in done.err


def test_heartbeats_among_the_files_of_records_are_one_line(
    command: Command, small: Written
) -> None:
    done = command("diagnose", small.heartbeats)
    assert done.code == 2
    assert f"not ping records: give --heartbeats {small.heartbeats}" in done.error_line


@pytest.mark.parametrize("mark", [";", "\t"])
def test_csv_with_another_separator_says_that_it_must_be_a_comma(
    command: Command, tmp_path: Path, mark: str
) -> None:
    file = written(tmp_path, "csv", [ping()])
    file.write_text(file.read_text().replace(",", mark))
    done = command("diagnose", file)
    assert done.code == 2
    assert "the separator of CSV must be a comma" in done.error_line


@pytest.mark.parametrize(("unit", "factor"), [("s", 10**9), ("ms", 10**6), ("us", 1000)])
def test_times_of_which_some_are_in_another_unit_are_one_line(
    command: Command, tmp_path: Path, unit: str, factor: int
) -> None:
    rows = [ping(h, s) for h in range(4) for s in range(9)]
    for row in rows[:12]:
        row["ping_time"] //= factor
    done = command("diagnose", written(tmp_path, "ndjson", rows))
    assert (done.code, done.out) == (2, "")
    assert f"ping_time of 12 records is in {unit} (" in done.error_line
    assert f"of 24 in ns since the epoch: multiply the former by {factor:_}" in done.error_line


def test_a_time_of_no_unit_at_all_is_no_reason_to_refuse_the_others(
    command: Command, tmp_path: Path
) -> None:
    rows = [ping(h, s) for h in range(4) for s in range(9)]
    rows[3]["ping_time"] = 0
    assert command("diagnose", written(tmp_path, "ndjson", rows)).code == 0
