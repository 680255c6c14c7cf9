"""Fabrics small enough to draw, and what the windower would say about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer, LocalizerOutput
from schemas.documents.incident import Incident
from schemas.documents.topology import Container, Endpoint, Host, Rnic, Switch, Topology
from schemas.wire import window_chunks
from schemas.wire.window_chunks import Header

START_S = 1_780_000_000

TWO_TIER = Topology(
    #   dsw1   dsw2      every ToR reaches both spines
    #    | \\ / |
    #   asw1   asw2
    fabric="f1",
    switches=[
        Switch("asw1", "asw", addresses=["10.9.1.1"]),
        Switch("asw2", "asw", addresses=["10.9.2.1"]),
        Switch("dsw1", "dsw", addresses=["10.9.3.1", "10.9.3.2"]),
        Switch("dsw2", "dsw"),
    ],
    links=[("asw1", "dsw1"), ("asw1", "dsw2"), ("asw2", "dsw1"), ("asw2", "dsw2")],
)

THREE_TIER = Topology(
    #        dsw1      dsw2          each psw reaches both
    #   psw1  psw2   psw3  psw4
    #     asw1          asw2
    fabric="f1",
    switches=[
        *(Switch(f"asw{n}", "asw") for n in (1, 2)),
        *(Switch(f"psw{n}", "psw") for n in (1, 2, 3, 4)),
        *(Switch(f"dsw{n}", "dsw") for n in (1, 2)),
    ],
    links=[
        ("asw1", "psw1"), ("asw1", "psw2"), ("asw2", "psw3"), ("asw2", "psw4"),
        *((f"psw{n}", dsw) for n in (1, 2, 3, 4) for dsw in ("dsw1", "dsw2")),
    ],
)  # fmt: skip


FiveTuple = tuple[str, str, str, int, int]  # layer, addresses and ports


class End(NamedTuple):
    """A container's endpoint: container, host, rnic and its ToR."""

    box: str
    host: str
    rnic: str
    asw: str
    dsw: str = ""

    @property
    def ip(self) -> str:
        return f"{self.box}-{self.rnic}"


def path(
    src: End, dst: End, layer: str = "underlay", port: int = 50_000, number: int = 0,
    task: str = "UDP_PING", to_port: int = 4791,
) -> Path:  # fmt: skip
    return Path(
        number, "f1", layer, task,
        src.box, src.ip, src.rnic, src.host, src.asw, src.dsw, "pod",
        dst.box, dst.ip, dst.rnic, dst.host, dst.asw, dst.dsw, "pod",
        "tenant", "tenant", port, to_port,
    )  # fmt: skip


def request(p: Path) -> FiveTuple:
    """Five-tuple of a path's probes."""
    return p.layer, p.src_ip, p.dst_ip, p.src_port, p.dst_port


def reply(p: Path) -> FiveTuple:
    """Five-tuple of the answers to them."""
    return p.layer, p.dst_ip, p.src_ip, p.dst_port, p.src_port


@dataclass
class Second:
    """What one path met in one second."""

    sent: int = 4
    lost: int = 0
    refused: int = 0
    rtt_us: float = 20.0


Weather = Callable[[Path, int], Second | None]
Message = tuple[Header, pa.RecordBatch | None, bytes]
FINE = Second()


def fine(_: Path, __: int) -> Second:
    return FINE


@dataclass
class Cluster:
    """Hosts with ``rails`` rnics and one container each, half behind each ToR of their rail.

    Every container probes every other one on the same rail, in both layers, over two five-tuples.
    """

    hosts: int = 6
    rails: int = 2
    ends: list[End] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ends = [
            End(f"c{h}", f"h{h}", f"r{h}.{r}", f"asw{1 + (h > self.hosts // 2)}{r}")
            for h in range(1, self.hosts + 1)
            for r in range(self.rails)
        ]
        pairs = [
            (a, b, layer, port)
            for a in self.ends
            for b in self.ends
            for layer in ("underlay", "overlay")
            for port in (50_000, 50_001)
            if a.host != b.host and a.rnic[-1] == b.rnic[-1]
        ]
        self.paths = [path(*pair, number=n) for n, pair in enumerate(pairs)]

    @property
    def topology(self) -> Topology:
        """Two ToRs a rail, joined by two spines."""
        tors = sorted({end.asw for end in self.ends})
        dsws = ("dsw1", "dsw2")
        boxes: dict[str, list[End]] = {}
        for end in self.ends:
            boxes.setdefault(end.host, []).append(end)
        return Topology(
            fabric="f1",
            switches=[Switch(t, "asw") for t in tors] + [Switch(d, "dsw") for d in dsws],
            links=[(tor, dsw) for tor in tors for dsw in dsws],
            hosts=[
                Host(name, [Rnic(e.rnic, int(e.rnic[-1]), e.asw) for e in ends])
                for name, ends in boxes.items()
            ],
            containers=[
                Container(f"c{name[1:]}", name, "job-1", "tenant",
                          [Endpoint(e.ip, e.rnic) for e in ends])
                for name, ends in boxes.items()
            ],
        )  # fmt: skip

    def second(
        self,
        at: int,
        weather: Weather = fine,
        *,
        beats: Iterable[dict[str, Any]] | None = None,
        skewed: dict[str, float] | None = None,
    ) -> list[Message]:
        """Heartbeats, pane and punctuation of second ``at`` (from START_S)."""
        out: list[Message] = []
        start_s = START_S + at
        if beats is None:
            beats = [{"node_sn": f"h{h}"} for h in range(1, self.hosts + 1)]
        if rows := [beat(at, **each) for each in beats]:
            batch = pa.RecordBatch.from_pylist(rows, schema=window_chunks.HEARTBEATS)
            out.append((Header("heartbeats", "f1", start_s, start_s + 1), batch, b""))
        met = [(p, m) for p in self.paths if (m := weather(p, at)) is not None]
        head = Header("pane", "f1", start_s, start_s + 1, watermark_ms=(start_s + 1) * 1000)
        if met:
            out.append((head, pane(met), b""))
        body = json.dumps({"skewed": skewed or {}}).encode()
        out.append((punctuation(start_s + 1), None, body))
        return out

    def window(self, at: int, weather: Weather) -> Message:
        """Latency features of the 30 s that end at ``at``, as if every second had been the last."""
        end_s = START_S + at
        met = [(p, m) for p in self.paths if (m := weather(p, at - 1)) is not None]
        head = Header("window", "f1", end_s - 30, end_s, watermark_ms=end_s * 1000)
        return head, pane(met, window_chunks.WINDOW, seconds=30), b""


def beat(at: int, node_sn: str, **other: Any) -> dict[str, Any]:
    return {
        "fabric": "f1", "node_sn": node_sn, "time": int((START_S + at + 0.9) * 1e9), "alive": True,
        "cpu_steal": 0.0, "scheduling_delay_us": 100.0, **other,
    }  # fmt: skip


def pane(
    met: Sequence[tuple[Path, Second]], schema: pa.Schema = window_chunks.PANE, seconds: int = 1
) -> pa.RecordBatch:
    met_by = [m for _, m in met]
    sent = np.array([m.sent for m in met_by]) * seconds
    lost = np.array([m.lost for m in met_by]) * seconds
    rtt_us = np.array([m.rtt_us for m in met_by])
    counts = {
        "records": sent, "sent": sent, "lost": lost, "rtt_count": sent - lost,
        "refused": np.array([m.refused for m in met_by]) * seconds,
        "rtt_mean_us": np.where(sent > lost, rtt_us, 0.0),
        **dict.fromkeys((f.name for f in window_chunks.FEATURE_FIELDS), rtt_us),
        "rtt_std_us": np.full(len(met), 0.5),
    }  # fmt: skip
    columns = [pa.array(counts[f.name]).cast(f.type) for f in schema if f.name in counts]
    described = _described(tuple(p for p, _ in met))
    return pa.RecordBatch.from_arrays([*described, *columns], schema=schema)


@lru_cache(maxsize=64)
def _described(paths: tuple[Path, ...]) -> list[pa.Array]:
    rows = list(zip(*paths, strict=True))
    return [
        pa.array(values).dictionary_encode().cast(f.type)
        if pa.types.is_dictionary(f.type)
        else pa.array(values, f.type)
        for f, values in zip(window_chunks.PATH_FIELDS, rows, strict=True)
    ]


def punctuation(second: int, partition: int = 0, *, idle: bool = False) -> Header:
    return Header(
        "punctuation", "f1", second, second, partition, watermark_ms=second * 1000, idle=idle
    )


def observe(localizer: Localizer, messages: Iterable[Message]) -> LocalizerOutput:
    found = LocalizerOutput()
    for header, batch, body in messages:
        more = localizer.observe(header, batch, body)
        found.incidents += more.incidents
        found.anomalies += more.anomalies
    return found


def newest(incidents: Iterable[Incident]) -> list[Incident]:
    """The last version of each incident, in the order in which they were opened."""
    last: dict[str, Incident] = {}
    for incident in incidents:
        last[incident.incident_id] = incident
    return list(last.values())


def traced(
    cluster: Cluster,
    between: Callable[[Path], Sequence[str]],
    which: Callable[[Path], bool] = lambda _: True,
    some: int | None = None,
) -> Message:
    """Traceroutes of requests and answers of paths between two ToRs, underlay only.

    between  switches on the way from the source's ToR to the destination's
    some     how many paths at most
    """
    paths = [
        p for p in cluster.paths if p.layer == "underlay" and p.src_asw != p.dst_asw and which(p)
    ]
    rows = []
    for p in paths[:some]:
        hops = [p.src_asw, *between(p), p.dst_asw]
        for flow, way in ((request(p), hops), (reply(p), hops[::-1])):
            names = ("layer", "src_ip", "dst_ip", "src_port", "dst_port")
            rows.append({"fabric": "f1", **dict(zip(names, flow, strict=True)), "hops": way})
    batch = pa.RecordBatch.from_pylist(rows, schema=window_chunks.ROUTES)
    return Header("routes", "f1", START_S, START_S + 1), batch, b""
