"""The table: medians, ratios to ours, and why a row has no figure."""

from __future__ import annotations

from evaluation.bench.peers.table import Load, table


def test_a_row_has_the_median_the_spread_and_the_ratio_to_ours() -> None:
    found = {
        "ours": [{"rate": rate, "version": "v"} for rate in (1000, 3000, 2000)],
        "clickhouse": [{"rate": rate, "version": "26"} for rate in (500, 1500, 1000)],
    }
    text = table(["ours", "clickhouse", "polars"], found, {"polars": "not installed"}, Load(1, 2))
    assert "3 runs" in text
    assert "load 1.0 before, 2.0 after" in text
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    assert "| v | 2,000 (1,000 to 3,000) | 1 |" in rows[0]
    assert "| 26 | 1,000 (500 to 1,500) | 0.5 |" in rows[1]
    assert "| not installed |" in rows[2]


def test_without_ours_there_is_no_ratio() -> None:
    text = table(["clickhouse"], {"clickhouse": [{"rate": 10, "version": "26"}]}, {}, Load(0, 0))
    assert "| 26 | 10 (10 to 10) |  |" in text
