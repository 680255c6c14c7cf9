"""The skeleton of a job: positions of its rnics, and the probes between them."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import Any, Final, NamedTuple

from api.documents import finite
from api.queries.database import Store
from api.queries.site.job_paths import CONTAINERS, PATHS, RECENT_S, newest
from api.skeleton_documents import FabricSkeleton, JobSkeleton, ProbedPair, SkeletonRnic
from schemas.documents.times import rfc3339_of_ms

#: More than a drawing can show.
_MOST_RNICS: Final = 4096
_MOST_LINKS: Final = 20_000
_INFERRED: Final = (
    "SELECT *, toUnixTimestamp64Milli(until) AS until_ms FROM job_skeletons FINAL"
    " WHERE job = {job:String} ORDER BY until DESC LIMIT 1 BY fabric"
)
_PLACED: Final = (
    f"SELECT fabric, node_id, host, ports FROM {CONTAINERS}"  # noqa: S608  # fixed
    " WHERE work = {job:String} AND phase != 'gone' ORDER BY fabric, host, node_id"
)
_NAMED: Final = "SELECT count() AS n FROM incidents_latest WHERE has(jobs, {job:String})"
_KNOWN: Final = "SELECT skeleton FROM jobs FINAL WHERE job = {job:String}"
_PAIRS: Final = (
    "SELECT fabric, least(src_real_ip, dst_real_ip) AS a, greatest(src_real_ip, dst_real_ip) AS b,"
    f" sum(w.sent) AS all_sent, sum(w.lost) AS all_lost, quantile(0.5)(w.rtt_p50_us) AS p50 {PATHS}"
    " AND src_real_ip != dst_real_ip GROUP BY fabric, a, b"
    " ORDER BY all_lost / greatest(all_sent, 1) DESC, p50 DESC, a, b LIMIT 200000"
)
_NOTHING: Final = (
    "No skeleton: none was inferred. The controller infers one from some minutes of throughput of"
    " the job's rnics."
)
_CHANGED: Final = "No skeleton: the job's containers have changed since the last one was inferred."
_OPTED_OUT: Final = "No skeleton: the job was submitted without inference."


class _Seat(NamedTuple):
    """An rnic and its position."""

    host: str
    container: str
    cluster: int = -1
    stage: int = -1
    expert: int = -1
    exception: bool = False


def skeleton(store: Store, name: str) -> JobSkeleton | None:
    """The skeleton of one job; None when no container, skeleton or incident names it."""
    inferred = {row["fabric"]: row for row in store.rows(_INFERRED, {"job": name})}
    placed: dict[str, dict[str, _Seat]] = defaultdict(dict)
    for row in store.rows(_PLACED, {"job": name}):
        placed[row["fabric"]].update(
            {port: _Seat(row["host"], row["node_id"]) for port in row["ports"]}
        )
    if not inferred and not placed:
        (named,) = store.rows(_NAMED, {"job": name})
        return JobSkeleton(job=name, as_of=None, fabrics=[]) if named["n"] else None
    until = newest(store, name)
    pairs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if until is not None:
        values = {"job": name, "since": until - RECENT_S, "until": until}
        for row in store.rows(_PAIRS, values):
            pairs[row["fabric"]].append(row)
    known = store.rows(_KNOWN, {"job": name})
    without = _OPTED_OUT if known and not known[0]["skeleton"] else _NOTHING
    return JobSkeleton(
        job=name,
        as_of=None if until is None else rfc3339_of_ms(1000 * until),
        fabrics=[
            _of_fabric(fabric, inferred.get(fabric), placed[fabric], pairs[fabric], without)
            for fabric in sorted({*inferred, *placed})
        ],
    )


def _of_fabric(
    fabric: str,
    found: dict[str, Any] | None,
    placed: dict[str, _Seat],
    pairs: list[dict[str, Any]],
    without: str,
) -> FabricSkeleton:
    if found is not None and placed and {*placed} != {*found["rnics"]} and not found["declined"]:
        found, without = None, _CHANGED  # ping lists have gone back to rails too
    used = found is not None and not found["declined"]
    seats = placed | _positions(found, placed) if found is not None and used else placed
    between = _pairs_of(found) if found is not None and used else set()
    at = {name: number for number, name in enumerate([*seats][:_MOST_RNICS])}
    probed = [row for row in pairs if row["a"] in at and row["b"] in at]
    sums = _by_rnic(probed)
    return FabricSkeleton(
        fabric=fabric,
        state="used" if used else "declined" if found is not None else "none",
        text=_said(found, without),
        until=None if found is None else rfc3339_of_ms(int(found["until_ms"])),
        period_s=int(found["period_s"]) if found is not None and used else 0,
        dp=int(found["dp"]) if found is not None and used else 0,
        stages=int(found["stages"]) if found is not None and used else 0,
        confidence=None if found is None else finite(found["confidence"]),
        pairs=len(between) or None,
        probed=sum((row["a"], row["b"]) in between for row in probed),
        rnics=[SkeletonRnic(name, *seats[name], *sums.get(name, (0, 0, None))) for name in at],
        rnics_total=len(seats),
        links=[
            ProbedPair(at[row["a"]], at[row["b"]], (row["a"], row["b"]) in between,
                       int(row["all_sent"]), int(row["all_lost"]), finite(row["p50"]))
            for row in probed[:_MOST_LINKS]
        ],
        links_total=len(probed),
    )  # fmt: skip


def _positions(found: dict[str, Any], placed: dict[str, _Seat]) -> dict[str, _Seat]:
    columns = zip(
        found["rnics"], found["hosts"], found["clusters"], found["stage_of"], found["experts"],
        found["exceptions"], strict=True,
    )  # fmt: skip
    return {
        name: _Seat(host, placed[name].container if name in placed else "", *position)
        for name, host, *position in columns
    }


def _pairs_of(found: dict[str, Any]) -> set[tuple[str, str]]:
    """As in the rows of ``_PAIRS``: the smaller name first."""
    return {(min(pair), max(pair)) for pair in zip(found["pairs_a"], found["pairs_b"], strict=True)}


def _by_rnic(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int, float | None]]:
    """Rnic -> probes, lost ones, and the median of its pairs' round trips."""
    sent: defaultdict[str, int] = defaultdict(int)
    lost: defaultdict[str, int] = defaultdict(int)
    rtts: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        for name in (row["a"], row["b"]):
            sent[name] += int(row["all_sent"])
            lost[name] += int(row["all_lost"])
            if (rtt := finite(row["p50"])) is not None:
                rtts[name].append(rtt)
    return {
        name: (count, lost[name], median(rtts[name]) if rtts[name] else None)
        for name, count in sent.items()
    }


def _said(found: dict[str, Any] | None, without: str) -> str:
    if found is None:
        return without
    when = rfc3339_of_ms(int(found["until_ms"]))[11:19]
    if found["declined"]:
        return f"No skeleton: the inference at {when} UTC was declined: {found['declined']}."
    stages, groups = int(found["stages"]), len({*found["clusters"]} - {-1})
    odd = sum(found["exceptions"])
    return (
        f"{_count(stages, 'pipeline stage')}, {_count(groups, 'DP group')} of {found['dp']} rnics"
        f" each, rounds of {found['period_s']} s; confidence {found['confidence']:.2f}, by"
        f" throughput until {when} UTC." + (f" {_count(odd, 'rnic')} did not fit." if odd else "")
    )


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
