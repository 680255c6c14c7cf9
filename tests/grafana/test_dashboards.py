"""Every panel of every dashboard answers from real tables and real metrics."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders.monitoring.known_store import NOON, known_store
from builders.monitoring.prometheus_tools import PROJECT, tool
from builders.monitoring.small_site import put_placement

from schemas.documents.topology import Endpoint
from schemas.metrics import Metric, agent, api, controller, process, sink, stream
from store.client import Store

FOLDER = PROJECT / "grafana"
BOARDS = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("dashboards/*.json")}
PANELS = {
    f"{name}: {each['title']}": each for name, board in BOARDS.items() for each in board["panels"]
}
ASKING_SQL = sorted(name for name, each in PANELS.items() if "rawSql" in each["targets"][0])
ASKING_PROMQL = sorted(PANELS.keys() - ASKING_SQL)
PLACES = (("c1", "h1", "10.0.0.1"), ("c2", "h2", "10.0.1.1"), ("c3", "h2", "10.0.1.2"))
FIRST, LAST = NOON - 3600, 2**32 - 1


def expanded(sql: str) -> str:
    """The statement as the data source sends it, since an hour before the known incidents."""
    sql = re.sub(
        r"\$__timeFilter\((\w+)\)",
        rf"\1 >= toDateTime({FIRST}) AND \1 <= toDateTime({LAST})", sql,
    )  # fmt: skip
    interval = r"toStartOfInterval(toDateTime(\1), INTERVAL 60 second)"
    sql = re.sub(r"\$__timeInterval\((\w+)\)", interval, sql).replace("$fabric", "%")
    sql = sql.replace("$job", "llm-70b")
    assert "$" not in sql, sql
    return sql


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with known_store(tmp_path_factory.mktemp("grafana")) as opened:
        for node, host, rnic in PLACES:
            put_placement(
                opened, node, host, job="llm-70b", valid_from="2026-01-31T11:00:00Z",
                endpoints=[Endpoint("172.16.0.1", rnic)],
            )  # fmt: skip
            rail = int(rnic[-1]) - 1
            opened.execute(
                "INSERT INTO topology_components (fabric, valid_from, component, kind, name, host,"
                f" rail) SELECT 'f1', toDateTime64({NOON - 3600}, 3), 'rnic:{rnic}', 'rnic',"
                f" '{rnic}', '{host}', {rail}"
            )
            opened.execute(  # a minute, half of it measured
                "INSERT INTO throughput (time, fabric, node_sn, real_ip, tx_bytes, rx_bytes)"
                f" SELECT {NOON} + number, 'f1', '{host}', '{rnic}', 1000 * ({rail} + 1), 500"
                " FROM numbers(30)"
            )
        for after_s, errors in ((0, 5), (60, 12)):
            opened.execute(
                "INSERT INTO port_counters (fabric, node_sn, device, counter, time, rnic, value)"
                " SELECT 'f1', 'h2', 'mlx5_1/1', arrayJoin(['symbol_error', 'port_state']),"
                f" toDateTime64({NOON + after_s}, 3), '10.0.1.2', {errors}"
            )
        yield opened


def ask(store: Store, name: str) -> list[dict[str, Any]]:
    return store.rows(expanded(PANELS[name]["targets"][0]["rawSql"]))


@pytest.mark.parametrize("name", ASKING_SQL)
def test_a_panel_answers_from_the_tables(store: Store, name: str) -> None:
    rows = ask(store, name)
    assert rows, "known data must show"
    if PANELS[name]["type"] == "timeseries":
        assert "time" in rows[0]


def test_each_probe_is_counted_once(store: Store) -> None:
    (pair,) = ask(store, "fabric: Worst ToR pairs")
    assert (pair["probes"], pair["lost_probes"], pair["loss"]) == (2 * 300, 30, 0.05)
    loss = {row["loss"] for row in ask(store, "fabric: Loss")}
    assert loss == {0.05}
    worst = ask(store, "fabric: Worst rnics")[0]
    assert (worst["rnic"], worst["loss"]) == ("10.0.1.2", 0.1)


def test_what_is_wrong_now_leaves_out_what_is_resolved_or_explained(store: Store) -> None:
    (row,) = ask(store, "incidents: What is wrong now")
    assert (row["incident_id"], row["severity"], row["component"]) == (
        "BBBB", "P0", "rnic:10.0.0.1",
    )  # fmt: skip


def test_the_query_of_the_variable_names_the_fabrics(store: Store) -> None:
    for board in BOARDS.values():
        variable = board["templating"]["list"][0]
        assert [row["fabric"] for row in store.rows(variable["query"])] == ["f1", "f2"]


def test_jobs_is_the_dashboard_with_a_variable_for_the_job(store: Store) -> None:
    variables = {
        name: [each["name"] for each in board["templating"]["list"]]
        for name, board in BOARDS.items()
    }
    assert variables.pop("jobs") == ["fabric", "job"]
    assert {tuple(names) for names in variables.values()} == {("fabric",)}
    query = BOARDS["jobs"]["templating"]["list"][1]["query"]
    assert store.rows(query.replace("$fabric", "%")) == [{"job": "llm-70b"}]


def test_traffic_is_a_mean_over_measured_seconds_and_a_sum_over_rnics(store: Store) -> None:
    (minute,) = ask(store, "fabric: Traffic of all rnics")
    assert (minute["sent"], minute["received"]) == (1000 + 1000 + 2000, 3 * 500)
    busiest = ask(store, "fabric: Busiest rnics")[0]
    assert (busiest["component"], busiest["tx_bytes_per_s"], busiest["seconds"]) == (
        "rnic:10.0.1.2", 2000, 30,
    )  # fmt: skip
    slowest = ask(store, "jobs: Slowest rnics")
    assert [row["component"] for row in slowest] == [
        "rnic:10.0.0.1", "rnic:10.0.1.1", "rnic:10.0.1.2",
    ]  # fmt: skip
    rails = {row["rail"]: row["sent"] for row in ask(store, "jobs: Sent by rail")}
    assert rails == {"0": 2000, "1": 2000}


def test_a_rail_is_that_of_the_source_and_counts_each_probe_once(store: Store) -> None:
    for name in ("fabric: Loss by rail", "jobs: Loss by rail"):
        assert {(row["rail"], row["loss"]) for row in ask(store, name)} == {("0", 0.05)}, name
    worst = ask(store, "jobs: Worst paths")[0]
    assert (worst["dst_rail"], worst["probes"], worst["loss"]) == (1, 300, 0.1)


def test_counters_show_what_they_gained_and_no_states(store: Store) -> None:
    (row,) = ask(store, "fabric: What counters of ports counted")
    assert (row["kind"], row["counter"], row["component"], row["gained"]) == (
        "damaged", "symbol_error", "rnic:10.0.1.2", 7,
    )  # fmt: skip


def test_incidents_of_a_job_are_its_own(store: Store) -> None:
    rows = ask(store, "jobs: Incidents of the job")
    found = {row["incident_id"] for row in rows}
    expected = store.rows(
        "SELECT incident_id FROM incidents_latest WHERE has(jobs, 'llm-70b') AND parent = ''"
    )
    assert found == {row["incident_id"] for row in expected} != set()


def test_every_promql_is_valid_and_about_metrics_that_exist(tmp_path: Path) -> None:
    known = {
        each.name for module in (agent, api, controller, process, sink, stream)
        for each in vars(module).values() if isinstance(each, Metric)
    }  # fmt: skip
    asked = [PANELS[name]["targets"][0]["expr"] for name in ASKING_PROMQL]
    assert {each for expr in asked for each in re.findall(r"skh_\w+", expr)} <= known
    rules = [{"record": f"panel:{n}", "expr": expr} for n, expr in enumerate(asked)]
    (tmp_path / "rules.yml").write_text(
        yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]})
    )
    done = subprocess.run(
        [tool("promtool"), "check", "rules", str(tmp_path / "rules.yml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_files_are_what_their_script_writes() -> None:
    script = PROJECT / "scripts/grafana_dashboards.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_panels_fit_the_grid_and_name_sources_that_are_provisioned() -> None:
    provisioned = yaml.safe_load(
        (FOLDER / "provisioning/datasources/skeletonhunter.yml").read_text()
    )
    uids = {each["uid"] for each in provisioned["datasources"]}
    for board in BOARDS.values():
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            assert panel["datasource"]["uid"] in uids
            at = panel["gridPos"]
            cells = {(at["x"] + dx, at["y"] + dy) for dx in range(at["w"]) for dy in range(at["h"])}
            assert at["x"] + at["w"] <= 24
            assert not cells & taken, panel["title"]
            taken |= cells
