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

from schemas.metrics import Metric, agent, api, controller, sink, stream
from store.client import Store

FOLDER = PROJECT / "grafana"
BOARDS = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("dashboards/*.json")}
PANELS = {
    f"{name}: {each['title']}": each for name, board in BOARDS.items() for each in board["panels"]
}
ASKING_SQL = sorted(name for name, each in PANELS.items() if "rawSql" in each["targets"][0])
ASKING_PROMQL = sorted(PANELS.keys() - ASKING_SQL)
FIRST, LAST = NOON - 3600, 2**32 - 1


def expanded(sql: str) -> str:
    """The statement as the data source sends it, since an hour before the known incidents."""
    sql = re.sub(
        r"\$__timeFilter\((\w+)\)",
        rf"\1 >= toDateTime({FIRST}) AND \1 <= toDateTime({LAST})", sql,
    )  # fmt: skip
    interval = r"toStartOfInterval(toDateTime(\1), INTERVAL 60 second)"
    sql = re.sub(r"\$__timeInterval\((\w+)\)", interval, sql).replace("$fabric", "%")
    assert "$" not in sql, sql
    return sql


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with known_store(tmp_path_factory.mktemp("grafana")) as opened:
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
        (variable,) = board["templating"]["list"]
        assert [row["fabric"] for row in store.rows(variable["query"])] == ["f1", "f2"]


def test_every_promql_is_valid_and_about_metrics_that_exist(tmp_path: Path) -> None:
    known = {
        each.name for module in (agent, api, controller, sink, stream)
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
