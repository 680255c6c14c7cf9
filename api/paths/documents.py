"""Paths, their pings and routes, and components, as clients get them."""

from __future__ import annotations

from typing import Literal

import msgspec

from schemas.documents.incident import Severity, State, Symptom

#: bad: an incident that is not resolved blames it. suspect: one has it in its tie set. ok: neither,
#: and it is probed, or of a kind at which no path ends and covered in the asked time or later.
#: unknown: none of these.
Health = Literal["bad", "suspect", "ok", "unknown"]
#: probed: probes of the asked time start or end there. covered: of the topology, and judged probes
#: cross it. uncovered: of the topology, and none does. untraced: only probes of unknown routes may.
Observability = Literal["probed", "covered", "untraced", "uncovered", "unknown"]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One end of a path; in the underlay host, container and addresses are the host's own."""

    host: str
    rnic: str
    container: str
    ip: str
    port: int
    tor: str
    pod: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What probes of some time had.

    sent, lost   probes, each counted once [count]; loss: their share [1], null without probes
    rtt_p50_us   median of the windows' medians [us]; p25, p75: of their quartiles
    rtt_min_us, rtt_max_us   the shortest and longest round trip [us]
    """

    sent: int
    lost: int
    loss: float | None
    rtt_min_us: float | None
    rtt_p25_us: float | None
    rtt_p50_us: float | None
    rtt_p75_us: float | None
    rtt_max_us: float | None


class PathSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A five-tuple path over the asked time; ``path_id`` is 16 hex digits, as in anomalies."""

    path_id: str
    fabric: str
    layer: str
    task_type: str
    src: Endpoint
    dst: Endpoint
    windows: int
    measured: Measured


class PathList(msgspec.Struct, frozen=True, kw_only=True):
    """Paths that match, the first ones in the requested order; total: all of them [count]."""

    since_at: str
    until_at: str
    total: int
    items: list[PathSummary]


class PathWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A window of 30 s."""

    window_start: str
    refused: int
    measured: Measured


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """The newest traceroute of a five-tuple; null for a hop that did not answer."""

    at: str
    hops: list[str | None]


class PathDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A path, its windows (oldest first) and its route, null where none was traced."""

    path: PathSummary
    windows: list[PathWindow]
    route: Route | None


class RawPing(msgspec.Struct, frozen=True, kw_only=True):
    """One ping record.

    dial        success, timeout, refused, unreachable or error
    latency_us  of one probe, or the record's own figure of its burst [us]
    """

    at: str
    dial: str
    sent: int | None
    lost: int | None
    latency_us: float | None
    p50_us: float | None
    p99_us: float | None
    dscp: int
    judged_as: str


class PingList(msgspec.Struct, frozen=True):
    """Ping records of a path, newest first."""

    items: list[RawPing]


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """A component and how it is.

    active    incidents that are not resolved and blame it, or have it in their tie set [count]
    severity  of the worst of them
    paths     that start or end there, of kinds that have endpoints [count]
    measured  what their probes had; null where none did
    """

    component: str
    fabric: str
    kind: str
    health: Health
    observability: Observability
    active: int
    severity: Severity | None
    paths: int
    measured: Measured | None


class ComponentList(msgspec.Struct, frozen=True, kw_only=True):
    """Components of a kind, the worst first."""

    total: int
    limit: int
    offset: int
    items: list[Component]


class ComponentIncident(msgspec.Struct, frozen=True, kw_only=True):
    """An incident in a component's history; blamed: as the culprit, not only in the tie set."""

    incident_id: str
    blamed: bool
    component: str
    symptom: Symptom
    severity: Severity
    state: State
    opened_at: str
    closed_at: str | None


class ComponentDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A component of a fabric, and the newest incidents about it."""

    component: Component
    incidents: list[ComponentIncident]
