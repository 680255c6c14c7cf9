"""Writes grafana/dashboards/*.json from the panels of ``grafana_panels``.

``--write`` writes them; without it, exits with 1 when a file differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from grafana_panels import DASHBOARDS, Panel

FOLDER: Final = Path(__file__).parents[1] / "grafana" / "dashboards"
SQL: Final = {"type": "grafana-clickhouse-datasource", "uid": "skeletonhunter-clickhouse"}
PROMQL: Final = {"type": "prometheus", "uid": "skeletonhunter-prometheus"}
WIDTH: Final = 24
FABRICS: Final = {
    "name": "fabric", "type": "query", "datasource": SQL,
    "query": "SELECT DISTINCT fabric FROM incidents_latest ORDER BY fabric",
    "includeAll": True, "allValue": "%", "refresh": 2,
    "current": {"text": "All", "value": "$__all"},
}  # fmt: skip
JOB: Final = {
    "name": "job", "type": "query", "datasource": SQL, "refresh": 2,
    "query": "SELECT DISTINCT job FROM job_places WHERE fabric LIKE '$fabric' ORDER BY job",
}  # fmt: skip


def dashboard(name: str, title: str, panels: list[Panel]) -> dict[str, Any]:
    """A dashboard as Grafana imports it."""
    return {
        "uid": f"skeletonhunter-{name}",
        "title": title,
        "tags": ["skeletonhunter"],
        "schemaVersion": 39,
        "timezone": "browser",
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "links": [
            {"type": "dashboards", "title": "SkeletonHunter", "tags": ["skeletonhunter"],
             "asDropdown": True, "includeVars": True, "keepTime": True}
        ],
        "templating": {
            "list": [FABRICS, JOB] if any("$job" in each.sql for each in panels) else [FABRICS]
        },
        "panels": _placed(panels),
    }  # fmt: skip


def _placed(panels: list[Panel]) -> list[dict[str, Any]]:
    """Panels from left to right, then from top to bottom."""
    made, x, y, row = [], 0, 0, 0
    for number, panel in enumerate(panels, start=1):
        if x + panel.width > WIDTH:
            x, y, row = 0, y + row, 0
        place = {"x": x, "y": y, "w": panel.width, "h": panel.height}
        made.append(_panel(number, panel, place))
        x, row = x + panel.width, max(row, panel.height)
    return made


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    source = SQL if panel.sql else PROMQL
    if panel.sql:
        kind = "timeseries" if panel.shape == "timeseries" else "table"
        target: dict[str, Any] = {
            "editorType": "sql", "queryType": kind, "format": 0 if kind == "timeseries" else 1,
            "rawSql": panel.sql,
        }  # fmt: skip
    else:
        target = {"expr": panel.promql, "legendFormat": panel.legend}
    return {
        "id": number,
        "type": panel.shape,
        "title": panel.title,
        "description": panel.about,
        "gridPos": place,
        "datasource": source,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [{"refId": "A", "datasource": source, **target}],
    }


def main() -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files")
    write = parser.parse_args().write
    differs = 0
    for name, (title, panels) in DASHBOARDS.items():
        path = FOLDER / f"{name}.json"
        text = json.dumps(dashboard(name, title, panels), indent=1, ensure_ascii=False) + "\n"
        if write:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path}: differs; run scripts/grafana_dashboards.py --write", file=sys.stderr)
            differs = 1
    return differs


if __name__ == "__main__":
    raise SystemExit(main())
