"""A store in which all names of one tenant hold the same word, to be searched for in what another
tenant is told."""

from __future__ import annotations

import re
import time
from typing import Any, Final

import msgspec

from builders.monitoring import path_windows
from builders.monitoring.small_site import encoded, put_placement
from builders.schemas.incidents import CHILD, INCIDENT, NIC
from schemas.documents.incident import Incident, encode
from schemas.documents.tasks.job import Job, Submission
from schemas.documents.times import rfc3339
from schemas.documents.topology import Endpoint
from store.client import Store
from streams.sink import job_rows
from streams.sink import rows as sink_rows

#: In every name of the first tenant; the second tenant's is "blue".
CANARY: Final = "canary"
_TABLES: Final = (
    "SELECT table, name, type FROM system.columns WHERE database = currentDatabase()"
    " AND default_kind != 'ALIAS' AND table IN (SELECT name FROM system.tables"
    " WHERE database = currentDatabase() AND engine LIKE '%MergeTree')"
)
#: Columns that others join by: a row of the first tenant about what the second one knows.
_JOINED: Final = {"fabric": "f1", "incident_id": "SHARED", "layer": "underlay"}
#: Columns of which readers know all values.
_KNOWN: Final = {
    "incident_actions": {"kind": "note", "verdict": ""},
    "topology_components": {"kind": "container"}, "placement": {"state": "ready"},
}  # fmt: skip


def incidents(now: str) -> list[Incident]:
    """Of blue alone; of the canary alone; of both, with names of the canary wherever a name can be:
    a switch with a child, an rnic of a canary's host, and one that is resolved."""
    replace = msgspec.structs.replace
    times = {"opened_at": now, "detected_at": now, "updated_at": now}
    own = replace(INCIDENT, incident_id="OWN", component="rnic:10.0.0.1", kind="rnic",
                  tie_set=["rnic:10.0.0.1", "link:rnic:10.0.0.1|tor:t1"], **times)  # fmt: skip
    foreign = replace(
        NIC, incident_id="FOREIGN", component="container:canary-box", kind="container",
        tie_set=["container:canary-box"], jobs=["canary-job"], tenants=[CANARY], fabric="f1",
        evidence={"text": "canary-box is silent"}, **times,
    )  # fmt: skip
    both: dict[str, Any] = {
        "tenants": ["blue", CANARY], "jobs": ["llm", "canary-job"], "tie_set": [
            "tor:t1", "rnic:10.0.0.1", "rnic:canary-rnic", "host:canary-host",
            "link:rnic:canary-rnic|tor:t1", "link:rnic:10.0.0.1|tor:t1", "link:?|tor:t1",
        ], "evidence": {
            "text": "only canary-host sees it", "paths": ["overlay canary-host 10.1.1.1:1 -> x"],
            "alternatives": [{"component": "host:canary-host"}], "bad_paths_crossing": 41,
            "tie_set_probability": {"rnic:canary-rnic": 0.5}, "issue_types": {"nic_down": 0.9},
        }, **times,
    }  # fmt: skip
    shared = replace(INCIDENT, incident_id="SHARED", component="tor:t1", **both)
    child = replace(CHILD, incident_id="CHILD", component="vswitch:canary-host", parent="SHARED",
                    **both)  # fmt: skip
    nic = replace(NIC, incident_id="NIC", component="rnic:canary-rnic", fabric="f1", **both)
    over = replace(shared, incident_id="OVER", version=2, state="resolved", closed_at=now)
    return [own, foreign, shared, child, nic, over]


def plant(store: Store) -> None:
    """One row of the canary's in each table, every text of it named after its column; then
    incidents, and what blue has of its own."""
    now_s = int(time.time()) // 30 * 30
    now = rfc3339(10**9 * now_s)
    columns: dict[str, dict[str, str]] = {}
    for row in store.rows(_TABLES):
        columns.setdefault(row["table"], {})[row["name"]] = row["type"]
    for table, types in columns.items():
        if table not in ("incidents", "schema_migrations"):
            _plant_row(store, table, types, now_s)
    for incident in incidents(now):
        store.insert("incidents", sink_rows.incident(encode(incident)))
    put_placement(store, "c1", "h1", valid_from=now, endpoints=[Endpoint("1.1.1.1", "10.0.0.1")])
    job = Job(job="llm", submitted=Submission(
        source="slurm", valid_from=now, fabric="f1", tenant="blue"))  # fmt: skip
    store.insert("jobs", job_rows.job(encoded(job), 1000 * now_s))
    names = ("node_sn", "real_ip", "node_id", "pod", "asw")
    foreign = {
        side: {f"{side}_{name}": f"canary-{name}" for name in names} for side in ("src", "dst")
    }
    windows = [
        path_windows.window(now_s - 60, 1, src_tenant_id="blue", dst_tenant_id="blue"),
        path_windows.window(
            now_s - 60, 2, src_tenant_id=CANARY, dst_tenant_id=CANARY,
            **foreign["src"], **foreign["dst"],
        ),
        path_windows.window(
            now_s - 60, 3, src_tenant_id="blue", dst_tenant_id=CANARY, **foreign["dst"]
        ),
        path_windows.window(
            now_s - 60, 4, src_tenant_id=CANARY, dst_tenant_id="blue", **foreign["src"]
        ),
        # Of a sink that does not store the destination's tenant: whose it is, is not known.
        path_windows.window(now_s - 60, 5, src_tenant_id="blue", **foreign["dst"]),
    ]  # fmt: skip
    store.insert("path_windows", path_windows.table(windows))


def _plant_row(store: Store, table: str, types: dict[str, str], now_s: int) -> None:
    values = {}
    for name, kind in types.items():
        base = re.sub(r"^(LowCardinality|Nullable)\((.*)\)$", r"\2", kind)
        text = CANARY if "tenant" in name else _JOINED.get(name, f"canary-{name}")
        text = _KNOWN.get(table, {}).get(name, text)
        if base == "String":
            values[name] = f"'{text}'"
        elif base in ("Array(String)", "Array(LowCardinality(String))"):
            values[name] = f"['{text}']"
        elif base.startswith("DateTime"):
            values[name] = f"toDateTime({now_s})"
        elif base.startswith(("Int", "UInt", "Float")):
            values[name] = "7"
    store.execute(f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())}")
