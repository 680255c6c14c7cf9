"""The API under load: 10 M windows in an embedded store, 200 requests a second, one core.

The service has one core, its clients another. They ask at fixed times, whether or not answers have
come, so that a slow answer delays none of the questions that would have met it (no coordinated
omission).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any, Final

import numpy as np
import pyarrow as pa

from api import serving
from api.app import create_app
from evaluation.bench.method.figure import figure
from schemas.documents.incident import Incident, encode
from schemas.documents.times import rfc3339
from store import migrate
from store.client import Store, open_store
from streams import event_loop
from streams.sink import rows as sink_rows

_WINDOWS: Final = 10_000_000
_PATHS: Final = 20_000
_INCIDENTS: Final = 500
_RATE: Final = 200  # requests/s
_MEASURED_S: Final = 20
_GOAL_MS: Final = 50.0
_CLIENTS: Final = 32  # connections
#: Share of the questions. Those of pages are equal for all who look; one in ten is about one
#: incident, component or path of many.
_MIX: Final = (
    (40, "/api/v1/incidents?order=urgent&include_uncovered=true&limit=50"),
    (30, "/api/v1/summary"),
    (10, "/api/v1/matrix?by=pod"),
    (10, "/api/v1/components?kind=tor"),
    (5, "/api/v1/incidents/I{incident}"),
    (2, "/api/v1/components/rnic:10.0.0.{incident}"),
    (3, "/api/v1/paths/{path:016x}"),
)


def api_requests() -> dict[str, Any]:
    """Percentiles of the time from when a question is due to its whole answer."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"chdb:{folder}/store", for_reads=True)
        began = time.perf_counter()
        fill(store)
        filled_s = time.perf_counter() - began
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[0]})
        answers, cpu_s = event_loop.run(_served(store, cores[-1]))
    times = np.array([each["ms"] for each in answers])
    failed = sum(each["status"] != 200 for each in answers)
    worst: dict[str, list[float]] = {}
    for each in answers:
        worst.setdefault(each["kind"], []).append(each["ms"])
    slowest = max(worst, key=lambda kind: float(np.percentile(worst[kind], 99)))
    p50, p99 = np.percentile(times, [50, 99])
    return {
        **figure(
            "P50 {p50:.0f} ms, P99 {p99:.0f} ms at {rate} requests/s, {failed} failed, "
            "{cpu_ms:.1f} ms of CPU each; the slowest kind ({slowest}) P99 {slowest_ms:.0f} ms; "
            "{windows:,} windows of {paths:,} paths, stored in {filled_s:.0f} s",
            p50=p50,
            p99=p99,
            rate=_RATE,
            failed=failed,
            cpu_ms=1000 * cpu_s / len(times),
            slowest=slowest,
            slowest_ms=float(np.percentile(worst[slowest], 99)),
            windows=_WINDOWS,
            paths=_PATHS,
            filled_s=filled_s,
        ),
        "goal": f"P99 <= {_GOAL_MS:.0f} ms",
        "missed": bool(p99 > _GOAL_MS or failed),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def fill(store: Store, windows: int = _WINDOWS) -> None:
    """Windows of 20,000 paths up to now, one each 5 s, and incidents of four versions each."""
    migrate.migrate(store)
    store.execute(
        "INSERT INTO path_windows (window_start, window_end, path_id, fabric, layer, task_type,"
        " src_node_id, src_ip, src_real_ip, src_node_sn, src_asw, src_pod, dst_node_id, dst_ip,"
        " dst_real_ip, dst_node_sn, dst_asw, dst_pod, src_port, dst_port, records, sent, lost,"
        " rtt_count, rtt_mean_us, rtt_p25_us, rtt_p50_us, rtt_p75_us, rtt_min_us, rtt_max_us)"
        " SELECT toDateTime(intDiv(toUnixTimestamp(now()), 5) * 5 - 30"
        " - 5 * intDiv(n, {paths:UInt32})) AS start, start + 30, n % {paths:UInt32} AS path,"
        " 'f1', 'underlay', 'UDP_PING',"
        " toString(intDiv(path % 2048, 8)) AS host,"
        " concat('10.0.0.', toString(path % 2048)) AS src,"
        " src, host, concat('tor-', toString(path % 128)), concat('pod-', toString(path % 8)),"
        " toString(intDiv((path * 7) % 2048, 8)) AS peer,"
        " concat('10.0.0.', toString((path * 7) % 2048)) AS dst, dst, peer,"
        " concat('tor-', toString((path * 7) % 128)), concat('pod-', toString((path * 7) % 8)),"
        " 50000 + path % 16, 4791, 30, 30, if(rand() % 1000 = 0, 1, 0), 30, 12, 10, 11, 13, 9, 40"
        " FROM (SELECT number AS n FROM numbers({windows:UInt64}))",
        {"paths": _PATHS, "windows": windows},
    )
    now_ns = time.time_ns()
    documents = (
        encode(_incident(number, version, now_ns))
        for number in range(_INCIDENTS)
        for version in (1, 2, 3, 4)
    )
    store.insert("incidents", pa.concat_tables(map(sink_rows.incident, documents)))


def _incident(number: int, version: int, now_ns: int) -> Incident:
    at = rfc3339(now_ns - number * 60_000_000_000)
    component = f"rnic:10.0.0.{number}"
    return Incident(
        incident_id=f"I{number}", version=version, fabric="f1", component=component, kind="rnic",
        state="ongoing" if number < 20 or version < 4 else "resolved", layer="underlay",
        symptom="loss", issue_type=None, direction="both", opened_at=at, detected_at=at,
        updated_at=at, closed_at=None, severity="P1", confidence=0.9, p_value=1e-9,
        tie_set=[component], parent=None, paths_bad=8, paths_total=10, jobs=["job"],
        evidence={"text": "8 of 10 bad paths cross it", "alternatives": [*range(200)]},
    )  # fmt: skip


async def _served(store: Store, core: int) -> tuple[list[dict[str, Any]], float]:
    """Answers of the clients, and the CPU time that the service took for them [s]."""
    app = create_app(store, keep_s=1.0)
    listener, _ = serving.listen("127.0.0.1", 0)
    server = serving.Server(serving.config(app))
    serving_task = asyncio.create_task(server.serve(sockets=[listener]))
    asking = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "evaluation.bench.api_requests", str(listener.getsockname()[1]),
        str(core), stdout=subprocess.PIPE,
    )  # fmt: skip
    assert asking.stdout is not None  # noqa: S101 — asked for above
    await asking.stdout.readline()  # it is ready
    before_s = time.process_time()
    raw = await asking.stdout.read()
    cpu_s = time.process_time() - before_s
    await asking.wait()
    server.should_exit = True
    await serving_task
    return json.loads(raw), cpu_s


async def _ask(port: int) -> list[dict[str, Any]]:
    """The clients: every question at its time, by the first connection that is free."""
    rng = random.Random(1)  # noqa: S311 — which questions, not a secret
    kinds = [path for share, path in _MIX for _ in range(share)]
    out: list[dict[str, Any]] = []
    questions: asyncio.Queue[tuple[str, float] | None] = asyncio.Queue()
    warm = asyncio.Event()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (question := await questions.get()) is not None:
            kind, due = question
            url = kind.format(incident=rng.randrange(_INCIDENTS), path=rng.randrange(_PATHS))
            writer.write(f"GET {url} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
            late_ms = 1000 * (time.perf_counter() - due)
            out.append({"kind": kind, "ms": late_ms, "status": int(head.split()[1])})
            if len(out) == len(_MIX):
                warm.set()
        writer.close()

    clients = [asyncio.create_task(client()) for _ in range(_CLIENTS)]
    for kind in dict.fromkeys(kinds):  # caches of the operating system
        questions.put_nowait((kind, time.perf_counter()))
    await warm.wait()
    out.clear()
    print("ready", flush=True)
    began = time.perf_counter()
    for number in range(_RATE * _MEASURED_S):
        due = began + number / _RATE
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        questions.put_nowait((rng.choice(kinds), due))
    for _ in clients:
        questions.put_nowait(None)
    await asyncio.gather(*clients)
    return out


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[2])})
    sys.stdout.write(json.dumps(asyncio.run(_ask(int(sys.argv[1])))))
