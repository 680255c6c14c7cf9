"""``skeletonhunter capacity``: its figures are those that were measured, its page is its output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from builders.command_line import Command

from schemas import topics
from skeletonhunter.commands import capacity
from skeletonhunter.commands.capacity import plan

ROOT = Path(__file__).parents[4]
#: The first table; those behind it are of other days, or of other engines.
RESULTS = (ROOT / "benchmarks" / "results.md").read_text().partition("\n## ")[0]


def test_the_page_has_the_table_of_the_command(command: Command) -> None:
    done = command("capacity")
    assert done.code == 0
    assert done.out.strip() in (ROOT / "docs" / "capacity.md").read_text()


@pytest.mark.parametrize(
    ("row", "figures"),
    [
        ("broker to incidents, Arrow, 64", [f"{capacity.WORKER_RECORDS:,} records/s/core"]),
        ("store: ping records", [f"{capacity.PINGS_STORED:,} pings/s/core",
                                 f"{capacity.STORED_PING_B} B a stored ping"]),
        ("store: windows", [f"{capacity.WINDOWS_STORED:,} windows/s/core"]),
        ("store: throughput", [f"{capacity.STORED_SAMPLE_B} B a stored sample"]),
        ("simulator to an Arrow stream", [f"{capacity.RECORD_B} B each"]),
        *((f"localizer: {name}", [f"{ms} ms", f"{paths:,} paths", f"{mb} MB"])
          for name, (paths, ms, mb) in zip(
              ("detection", "a second of 100,000 ", "a second of 1,000,000 "),
              capacity.LOCALIZER, strict=True)),
    ],
)  # fmt: skip
def test_a_figure_is_the_measured_one(row: str, figures: list[str]) -> None:
    (line,) = (each for each in RESULTS.splitlines() if each.startswith(f"| {row}"))
    for figure in figures:
        assert figure in line


def test_days_and_partitions_are_those_of_tables_and_topics() -> None:
    for table in ("0001_pings", "0042_throughput"):
        text = (ROOT / "store" / "migrations" / f"{table}.sql").read_text()
        assert f"TTL ingested_at + INTERVAL {capacity.KEPT_DAYS} DAY" in text
    assert plan(1, 1, 1.0).partitions == topics.PINGS.partitions


def test_twice_the_probes_take_twice_of_what_probes_cost() -> None:
    once, twice = plan(2048, 16, 1.0), plan(2048, 16, 0.5)
    for name in ("records_s", "kafka_mb_s", "worker_cores", "pings_gb"):
        assert getattr(twice, name) == pytest.approx(2 * getattr(once, name))
    assert (twice.judged_cpu_s, twice.throughput_gb) == (once.judged_cpu_s, once.throughput_gb)
    assert once.worker_cores == pytest.approx(2048 * 16 / 223_578 / 0.5)


def test_judging_is_interpolated_between_what_was_measured_and_not_beyond() -> None:
    assert plan(100_352, 1, 1.0).judged_cpu_s == pytest.approx(0.130)
    assert plan(551_936, 1, 1.0).judged_cpu_s == pytest.approx((0.130 + 0.542) / 2)
    assert plan(8, 1, 1.0).judged_mb == 283
    assert plan(1_000_000, 2, 1.0).judged_cpu_s is None


def test_options_are_used_and_more_paths_than_measured_are_said(command: Command) -> None:
    done = command("capacity", "--rnics", "500000", "--targets", "4", "--format", "json")
    (found,) = json.loads(done.out)
    assert (found["paths"], found["judged_mb"]) == (2_000_000, None)
    assert "not measured" in command("capacity", "--rnics", "500000", "--targets", "4").out
    assert command("capacity", "--rnics", "0").code == 2
