"""A real GPU cluster's fabric: hosts with their access, aggregation and distribution switches.

The table has a row per host. An access switch is linked to every aggregation switch that it was
seen with, and an aggregation switch to every distribution switch. Hosts are bonded: one rnic each.
"""

from __future__ import annotations

import csv
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from schemas.documents.topology import Host, Rnic, Switch, Topology
from testbed.topologies.clos import at_least_one, place_jobs, underlay_address

_COLUMNS = ("host", "asw", "psw", "dsw")


class LingjunSpec(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="lingjun"
):
    """Which table, and the jobs on it.

    table          CSV with columns host, asw, psw, dsw ("ip" for host, any case); empty = the 847
                   hosts that come with the testbed
    hosts_per_job  hosts of one training job, scattered over the fabric
    """

    name: str = "lingjun"
    table: str = ""
    hosts_per_job: int = 16
    tenants: int = 4

    def __post_init__(self) -> None:
        at_least_one(self, ("hosts_per_job", "tenants"))


def build(spec: LingjunSpec, seed: int) -> Topology:
    """The fabric of the table; addresses and jobs are dealt by the seed.

    Raises ValueError (one line) when the table cannot be read or lacks a column.
    """
    rows = _rows(spec.table)
    rng = np.random.default_rng([seed, 3])
    numbers = rng.permutation(len(rows))
    hosts = [
        Host(row["host"], [Rnic(underlay_address(number), 0, row["asw"])])
        for row, number in zip(rows, numbers, strict=True)
    ]
    hosts.sort(key=lambda host: host.node_sn)
    tiers: tuple[Literal["asw", "psw", "dsw"], ...] = ("asw", "psw", "dsw")
    names = {tier: sorted({row[tier] for row in rows}) for tier in tiers}
    pairs = {(row["asw"], row["psw"]) for row in rows} | {(row["psw"], row["dsw"]) for row in rows}
    return Topology(
        fabric=spec.name,
        hosts=hosts,
        switches=[Switch(name, tier) for tier in tiers for name in names[tier]],
        links=sorted(pairs),
        containers=place_jobs(hosts, spec.hosts_per_job, spec.tenants, rng),
    )


def _rows(table: str) -> list[dict[str, str]]:
    """The table with our column names; raises ValueError."""
    where = table or "lingjun.csv"
    source = Path(table) if table else resources.files("testbed") / "data" / "lingjun.csv"
    try:
        lines = source.read_text().splitlines()
    except OSError as why:
        raise ValueError(f"fabric: table {where}: {why.strerror}; give a readable CSV") from why
    rows = []
    for number, raw in enumerate(csv.DictReader(lines), 2):
        row = {str(name).lower(): value for name, value in raw.items()}
        row.setdefault("host", row.get("ip", ""))
        if missing := [name for name in _COLUMNS if not row.get(name)]:
            raise ValueError(f"fabric: table {where}, line {number}: {missing[0]} is missing")
        rows.append({name: row[name] for name in _COLUMNS})
    if not rows:
        raise ValueError(f"fabric: table {where} holds no host")
    return rows
