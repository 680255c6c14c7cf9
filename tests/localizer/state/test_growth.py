"""Nothing in a localizer grows with time: a day of churn, and a storm of invented switches."""

from __future__ import annotations

import cProfile
import json
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pytest
from builders.clusters import START_S, End, Message, Second, beat, observe, pane, path, punctuation

from localizer.coverage import traversals
from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from localizer.options import Retention
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.times import rfc3339
from schemas.wire import window_chunks
from schemas.wire.window_chunks import Header

HOSTS = 12
STEP_S, BUSY_S = 600, 3  # a generation of names lives for so long, and is measured for so long
DAY_S = 86_400
RETENTION = Retention()


def generation(number: int) -> list[Path]:
    """Hosts, containers, rnics, switches, pods and tenants that are new; the first
    host stays, but its rnic is another and its pod is renamed."""
    ends = [
        End(f"c{number}.{h}", f"h{number}.{h}" if h else "stays", f"r{number}.{h}",
            f"asw{number}.{h % 3}", f"dsw{number}")
        for h in range(HOSTS)
    ]  # fmt: skip
    return [
        path(a, b, layer, 50_000 + port, hash((number, i, j, layer, port)) & (2**63 - 1))._replace(
            src_pod=f"p{number}", dst_pod=f"p{number}", src_tenant_id=f"t{number}"
        )
        for i, a in enumerate(ends)
        for j, b in enumerate(ends)
        for layer, port in (("underlay", 0), ("overlay", 1))
        if i != j
    ]


def routes(at: int, traced: Iterable[tuple[Path, list[str | None]]]) -> Message:
    rows = [
        {
            "fabric": "f1", "layer": p.layer, "src_ip": p.src_ip, "dst_ip": p.dst_ip,
            "src_port": p.src_port, "dst_port": p.dst_port, "hops": hops,
        }
        for p, hops in traced
    ]  # fmt: skip
    found = pa.RecordBatch.from_pylist(rows, schema=window_chunks.ROUTES)
    return Header("routes", "f1", START_S + at, START_S + at + 1), found, b""


def second(
    at: int, paths: list[Path], extra: Iterable[Message] = (), *, bad: str = "", **more: Any
) -> list[Message]:
    start_s = START_S + at
    head = Header("pane", "f1", start_s, start_s + 1, watermark_ms=(start_s + 1) * 1000)
    met = [(p, Second(lost=2 if bad and bad in (p.src_asw, p.dst_asw) else 0)) for p in paths]
    hosts = {p.src_node_sn for p in paths}
    beats = [beat(at, name, **more) for name in sorted(hosts)]
    sent = pa.RecordBatch.from_pylist(beats, schema=window_chunks.HEARTBEATS)
    body = json.dumps({"skewed": {f"h{at}.1": 9.0}}).encode()
    return [
        (Header("heartbeats", "f1", start_s, start_s + 1), sent, b""),
        (head, pane(met), b""),
        *extra,
        (punctuation(start_s + 1), None, body),
    ]


def calls(work: Callable[[], object]) -> int:
    """Calls of Python functions that some work takes: a busy machine does not change them."""
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    return sum(each.callcount for each in profile.getstats())


@pytest.mark.slow
def test_a_day_of_churn_leaves_nothing_behind() -> None:
    localizer = Localizer()
    sizes: list[dict[str, int]] = []
    work: list[int] = []
    for number, start in enumerate(range(0, DAY_S, STEP_S)):
        paths = generation(number)
        now = rfc3339((START_S + start) * 10**9)
        later = rfc3339((START_S + start + 60) * 10**9)
        old = [{"node_id": f"c{number - 1}.{h}", "state": "gone"} for h in range(HOSTS)]
        new = [{"node_id": f"c{number}.{h}", "state": "ready"} for h in range(HOSTS)]
        localizer.place(
            Placement(
                node_sn="h", valid_from=now, fabric="f1", job=f"job-{number}",
                **each,  # type: ignore[arg-type]
            )
            for each in (old if number else []) + new
        )  # fmt: skip
        work_on = {"start": now, "until": later, "reason": "optics", "fabric": "f1"}
        localizer.maintain([Maintenance(component=f"host:h{number}.2", **work_on)])

        def one_generation(
            paths: list[Path] = paths, start: int = start, number: int = number
        ) -> None:
            hops: list[str | None] = [paths[0].src_asw, f"s{number}", paths[0].dst_asw]
            known = (p for p in paths if p.src_asw == hops[0] and p.dst_asw == hops[2])
            stray = [(p._replace(src_ip=f"x{number}"), hops) for p in paths[:20]]
            observe(localizer, [routes(start, [*((p, hops) for p in known), *stray])])
            for at in range(start, start + BUSY_S):
                observe(localizer, second(at, paths, bad=f"asw{number}.1"))
            at = start + BUSY_S  # all but the host that stays take their leave
            observe(localizer, second(at, paths, alive=False))

        work.append(calls(one_generation))
        sizes.append(localizer.sizes())
    quarter = len(sizes) // 4
    for what in sizes[-1]:
        first = max(each[what] for each in sizes[:quarter])
        last = max(each[what] for each in sizes[-quarter:])
        assert last <= 1.5 * first + 8, (what, first, last)
    assert sum(work[-quarter:]) <= 1.25 * sum(work[:quarter])
    assert sizes[-1]["paths"] <= 6 * len(generation(0))
    assert localizer.hosts <= 6 * HOSTS


def test_hosts_of_a_silent_pod_are_dropped_after_a_day() -> None:
    localizer = Localizer()
    first, second_pod = generation(0), generation(1)
    for at in range(12):
        observe(localizer, second(at, [*first, *second_pod]))
    for at in range(12, 60):
        observe(localizer, second(at, second_pod))
    assert localizer.sizes()["silent_scopes"] == 1
    for at in range(RETENTION.unheard_s + 120, RETENTION.outage_s, 600):
        observe(localizer, second(at, second_pod))
    assert localizer.hosts == 2 * HOSTS - 1
    for at in range(RETENTION.outage_s + 1200, RETENTION.outage_s + 9600, 600):
        observe(localizer, second(at, second_pod))
    assert localizer.hosts == HOSTS
    sizes = localizer.sizes()
    assert (sizes["silent_scopes"], sizes["pods"]) == (0, HOSTS)


PATHS = generation(0)


def quiet(localizer: Localizer, since: int, seconds: int) -> None:
    for at in range(since, since + seconds):
        observe(localizer, second(at, PATHS))


def true_hops(p: Path) -> list[str | None]:
    return [p.src_asw, "s1", p.dst_asw] if p.src_asw != p.dst_asw else [p.src_asw]


@pytest.mark.slow
def test_a_storm_of_invented_switches_is_bounded_and_passes() -> None:
    localizer = Localizer()
    observe(localizer, second(0, PATHS))
    observe(localizer, second(1, PATHS, [routes(1, ((p, true_hops(p)) for p in PATHS))]))
    before = calls(lambda: quiet(localizer, 2, 5))
    calm = localizer.sizes()
    storm: list[int] = []
    for at in range(7, 27):  # 5,000 names a second
        traced = []
        for n in range(1000):
            p = PATHS[(at * 1000 + n) % len(PATHS)]
            named: list[str | None] = [f"x{at}.{n}.{hop}" for hop in range(5)]
            traced.append((p, [p.src_asw, *named, p.dst_asw]))
        messages = second(at, PATHS, [routes(at, traced)])
        storm.append(calls(lambda sent=messages: observe(localizer, sent)))  # type: ignore[misc]
    worst = localizer.sizes()
    assert worst["switches"] < 1000, "of 100,000"
    assert worst["texts"] == calm["texts"]
    assert max(storm[-5:]) < 1.5 * max(storm[:5]), "a second of the storm costs the same to its end"

    observe(localizer, second(27, PATHS, [routes(27, ((p, true_hops(p)) for p in PATHS))]))
    quiet(localizer, 28, RETENTION.every_s)
    after = localizer.sizes()
    for what in ("switches", "links", "segments", "components"):
        assert after[what] <= calm[what] + 8, what
    assert calls(lambda: quiet(localizer, 28 + RETENTION.every_s, 5)) < 1.5 * before


def test_traceroutes_of_five_tuples_that_no_path_has_are_dropped() -> None:
    localizer = Localizer()
    observe(localizer, second(0, PATHS))
    for at in range(1, 20):
        strange = [
            (PATHS[0]._replace(src_ip=f"y{at}.{n}", dst_ip=f"z{at}.{n}"), ["a", "b", "c"])
            for n in range(10_000)
        ]
        observe(localizer, second(at, PATHS, [routes(at, strange)]))
    assert 0 < localizer.sizes()["routes_waiting"] <= 100_000
    assert localizer.sizes()["texts"] < 250_000
    for at in range(20, 2000, 60):
        observe(localizer, second(at, PATHS))
    sizes = localizer.sizes()
    assert sizes["routes_waiting"] == 0
    assert sizes["texts"] < 10_000
    assert sizes["address_pairs"] < 10_000


def test_a_route_of_a_hundred_thousand_hops_is_ignored() -> None:
    localizer = Localizer()
    hops: list[str | None] = [f"x{n}" for n in range(100_000)]
    observe(localizer, second(0, PATHS))
    observe(localizer, second(1, PATHS, [routes(1, [(PATHS[0], hops)])]))
    assert localizer.sizes()["switches"] < 20


def test_paths_cross_the_same_components_after_a_clean_up_as_in_a_new_localizer() -> None:
    """After the tables are written anew, the same paths cross the same components."""
    old = Localizer()
    for number in range(1, 60):
        observe(old, second(number, generation(number)))
    at = RETENTION.unheard_s + 200
    observe(old, second(at, PATHS, [routes(at, ((p, true_hops(p)) for p in PATHS))]))
    for more in range(1, RETENTION.every_s + 5):
        observe(old, second(at + more, PATHS))
    assert old.paths == len(PATHS)
    assert old.sizes()["texts"] < 1000
    new = Localizer()
    observe(new, second(at, PATHS, [routes(at, ((p, true_hops(p)) for p in PATHS))]))
    observe(new, second(at + 1, PATHS))
    assert old.incidence is not None
    assert new.incidence is not None
    crossed = (traversals(old.incidence), traversals(new.incidence))
    a, b = ({component: n for component, n in each.items() if n} for each in crossed)
    assert a == pytest.approx(b)
