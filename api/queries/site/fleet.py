"""Agents by their heartbeats of the last day, and hosts that have none."""

from __future__ import annotations

from statistics import median
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from api.queries.database import Store
from api.site_documents import Agent, FleetView
from schemas.documents.times import rfc3339_of_ms

AgentState = Literal["active", "silent", "agent_down", "host_down", "agent_starved", "clock_skewed"]
STATES: Final = get_args(AgentState)
#: Heartbeats come once a second; the localizer calls an agent down after some of them.
_SILENT_MS: Final = 10_000
_MOST_AGENTS: Final = 200_000
_MOST_NAMES: Final = 50
_AGENTS: Final = (
    "SELECT fabric, node_sn, scope, toUnixTimestamp64Milli(max(beats.last)) AS last_ms,"
    " argMax(beats.version, minute) AS newest_version,"
    " toUnixTimestamp(max(beats.started)) AS started_s,"
    " argMax(beats.cpu_steal, (minute, beats.cpu_steal)) AS steal,"
    " argMax(beats.scheduling_delay_us, (minute, beats.scheduling_delay_us)) AS delay,"
    " -argMax(-beats.behind_ms, (minute, -beats.behind_ms)) AS behind,"
    " argMax(beats.rnics, minute) AS ports,"
    " argMax(beats.sent, (minute, beats.sent)) AS all_sent,"
    " argMax(beats.answered, (minute, beats.answered)) AS all_answered"
    " FROM heartbeats AS beats WHERE ingested_at > now() - 86400"
    " GROUP BY fabric, node_sn, scope LIMIT {most:UInt32}"
)
_NOW: Final = "SELECT toUnixTimestamp64Milli(now64(3)) AS now_ms"
_TROUBLE: Final = (
    "SELECT fabric, component, symptom, incident_id FROM incidents_latest"
    " WHERE state != 'resolved' AND symptom IN {symptoms:Array(String)}"
    " ORDER BY opened_at LIMIT 10000"
)
_HOSTS: Final = (
    "SELECT fabric, name FROM topology_components FINAL WHERE kind = 'host'"
    " AND (fabric, valid_from) IN (SELECT fabric, max(valid_from) FROM topology_components"
    " WHERE valid_from <= now64(3) GROUP BY fabric) LIMIT {most:UInt32}"
)


class FleetFilters(BaseModel):
    """Which agents; an unknown parameter is an error."""

    model_config = ConfigDict(extra="forbid")

    state: list[AgentState] = Field(
        [], max_length=8, description="Repeat it for any of several; without it, all"
    )
    text: Annotated[str, Field(max_length=200)] = Field(
        "", description="Part of the host's name, the fabric, the scope or the version"
    )
    limit: int = Field(200, ge=1, le=1000)


def fleet(store: Store, wanted: FleetFilters) -> FleetView:
    """The agents that match, those with trouble first."""
    rows = store.rows(_AGENTS, {"most": _MOST_AGENTS})
    newest_ms: dict[str, int] = {}
    for row in rows:
        fabric = row["fabric"]
        newest_ms[fabric] = max(newest_ms.get(fabric, 0), int(row["last_ms"]))
    usual_ms = {
        fabric: median(int(row["behind"]) for row in rows if row["fabric"] == fabric)
        for fabric in newest_ms
    }
    trouble = _trouble(store)
    agents = [
        _agent(
            row, newest_ms[row["fabric"]], usual_ms[row["fabric"]],
            trouble.get((row["fabric"], row["node_sn"])),
        )
        for row in rows
    ]  # fmt: skip
    text = wanted.text.strip().lower()
    found = [each for each in agents if text in _text(each)]
    matching = [each for each in found if not wanted.state or each.state in wanted.state]
    order = {state: place for place, state in enumerate((*STATES[2:], *STATES[1::-1]))}
    matching.sort(
        key=lambda each: (
            order[each.state],
            -int(10 * each.cpu_steal),
            each.fabric,
            each.node_sn,
            each.scope,
        )
    )
    hosts = [(row["fabric"], row["name"]) for row in store.rows(_HOSTS, {"most": _MOST_AGENTS})]
    without = sorted({*hosts} - {(each.fabric, each.node_sn) for each in agents})
    (now,) = store.rows(_NOW)
    arrived_ms = max((last + usual_ms[fabric] for fabric, last in newest_ms.items()), default=0)
    age_ms = int(now["now_ms"]) - arrived_ms
    return FleetView(
        agents=matching[: wanted.limit], total=len(matching),
        states=_count(each.state for each in found),
        versions=_count(each.version or "unknown" for each in found),
        arrival_s=median(usual_ms.values()) / 1000 if usual_ms else None,
        newest_age_s=max(age_ms, 0) / 1000 if newest_ms else None,
        hosts=len(hosts) if hosts else None,
        silent_hosts=[name for _, name in without[:_MOST_NAMES]], silent_total=len(without),
    )  # fmt: skip


def _trouble(store: Store) -> dict[tuple[str, str], tuple[str, str]]:
    """(fabric, host) -> symptom and incident, of active incidents of agents and hosts."""
    rows = store.rows(_TROUBLE, {"symptoms": list(STATES[2:])})
    return {
        (row["fabric"], row["component"].partition(":")[2]): (row["symptom"], row["incident_id"])
        for row in rows
    }


def _agent(
    row: dict[str, Any], newest_ms: int, usual_ms: float, trouble: tuple[str, str] | None
) -> Agent:
    last_ms, started_s = int(row["last_ms"]), int(row["started_s"])
    silent = last_ms < newest_ms - _SILENT_MS
    return Agent(
        fabric=row["fabric"], node_sn=row["node_sn"], scope=row["scope"],
        state=trouble[0] if trouble else "silent" if silent else "active",
        incident_id=trouble[1] if trouble else None, version=row["newest_version"],
        last=rfc3339_of_ms(last_ms),
        started=rfc3339_of_ms(1000 * started_s) if started_s else None,
        cpu_steal=round(float(row["steal"]), 4),
        scheduling_delay_us=round(float(row["delay"]), 1),
        clock_ms=None if silent else round(int(row["behind"]) - usual_ms),
        rnics=int(row["ports"]), sent=int(row["all_sent"]), answered=int(row["all_answered"]),
    )  # fmt: skip


def _text(each: Agent) -> str:
    return f"{each.node_sn}\n{each.fabric}\n{each.scope}\n{each.version}".lower()


def _count(values: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items()))
