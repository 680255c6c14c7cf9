"""Each rnic is bonded over two ToRs: requests and answers hash to either, each by itself."""

from __future__ import annotations

from zlib import crc32

import pyarrow as pa
import pytest
from builders.clusters import START_S, Cluster, Message, Second, newest, observe, reply, request

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from schemas.documents.topology import Host, Rnic, Switch, Topology
from schemas.wire import window_chunks
from schemas.wire.window_chunks import Header

FAULT_S, UPTO_S = 60, 150
CLUSTER = Cluster(hosts=12)


def draw(p: Path, *more: int) -> float:
    """A number of [0, 1) that a path has for good."""
    return crc32(f"{p.src_ip} {p.dst_ip} {p.layer} {p.src_port} {more}".encode()) / 2**32


def tor(p: Path, side: str, way: int) -> str:
    """The ToR at one end of a path's request (0) or answer (1)."""
    asw = str(getattr(p, f"{side}_asw"))
    return asw + "AB"[int(2 * draw(p, way, side == "src"))]


def hops(p: Path, way: int) -> list[str]:
    """Switches of the request, or of the answer."""
    src, dst = ("src", "dst") if way == 0 else ("dst", "src")
    first, last = tor(p, src, way), tor(p, dst, way)
    if p.src_asw == p.dst_asw:
        return [first]
    return [first, f"s{int(4 * draw(p, way, 7))}", last]


ROUTES = {p: (hops(p, 0), hops(p, 1)) for p in CLUSTER.paths}
TORS = {f"{end.asw}{twin}" for end in CLUSTER.ends for twin in "AB"}


def crossings(p: Path, at_fault: str) -> int:
    """How often a round trip crosses a ToR, an rnic or a link ``rnic|ToR``."""
    there, back = ROUTES[p]
    rnic, _, tor = at_fault.partition("|")
    if rnic not in (p.src_real_ip, p.dst_real_ip):
        return sum(at_fault in way for way in (there, back))
    mine, theirs = (there, back) if rnic == p.src_real_ip else (back, there)
    return sum(tor in ("", used) for used in (mine[0], theirs[-1]))


#: As records name them: the ToRs of the request, or none.
NAMED = {p._replace(src_asw=way[0], dst_asw=way[-1]): p for p, (way, _) in ROUTES.items()}
UNNAMED = {p._replace(src_asw="", dst_asw=""): p for p in ROUTES}


def traceroutes(*, both: bool) -> Message:
    """Of the underlay; of requests, or of answers as well."""
    rows = []
    for p, (there, back) in ROUTES.items():
        if p.layer == "underlay":
            ways = [(request(p), there), (reply(p), back)][: 2 if both else 1]
            for flow, way in ways:
                named = dict(zip(window_chunks.ROUTES.names[1:6], flow, strict=True))
                rows.append({"fabric": "f1", **named, "hops": way})
    batch = pa.RecordBatch.from_pylist(rows, schema=window_chunks.ROUTES)
    return Header("routes", "f1", START_S, START_S + 1), batch, b""


#: Every ToR reaches four spines.
DOCUMENT = Topology(
    fabric="f1",
    hosts=[
        Host(host, [
            Rnic(end.rnic, int(end.rnic[-1]), asws=[f"{end.asw}A", f"{end.asw}B"])
            for end in CLUSTER.ends if end.host == host
        ])
        for host in sorted({end.host for end in CLUSTER.ends})
    ],
    switches=[
        *(Switch(name, "asw") for name in sorted(TORS)),
        *(Switch(f"s{n}", "dsw") for n in range(4)),
    ],
    links=[(name, f"s{n}") for name in sorted(TORS) for n in range(4)],
)  # fmt: skip


def judged(
    recorded: dict[Path, Path], at_fault: str, lost: float, *, both: bool,
    document: Topology | None = None, every_s: int = 1,
) -> list[Incident]:  # fmt: skip
    """One ToR, rnic or link between both loses packets from FAULT_S on; every five-tuple is probed
    each ``every_s``."""
    cluster = Cluster(hosts=12)
    cluster.paths = [*recorded]

    def weather(named: Path, at: int) -> Second | None:
        p = recorded[named]
        if (at + int(draw(p, 99) * every_s)) % every_s:
            return None
        share = 1 - (1 - lost) ** crossings(p, at_fault) if at >= FAULT_S else 0.0
        return Second(1, int(draw(p, at, 3) < share))

    localizer, found = Localizer(topology=document), []
    for at in range(UPTO_S):
        trace = [traceroutes(both=both)] if at % 30 == 5 else []
        found += observe(localizer, [*cluster.second(at, weather), *trace]).incidents
    return newest(found)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("lost", [0.1, 1.0])
@pytest.mark.parametrize("recorded", [NAMED, UNNAMED], ids=["named", "unnamed"])
def test_a_bad_tor_is_named_and_not_the_other_one_of_the_same_rnics(
    recorded: dict[Path, Path], lost: float, both: bool
) -> None:
    incidents = judged(recorded, "asw10A", lost, both=both)
    assert {each.component for each in incidents if each.parent is None} == {"tor:asw10A"}


LINK = f"{CLUSTER.ends[0].rnic}|{CLUSTER.ends[0].asw}A"


@pytest.mark.parametrize("lost", [0.1, 1.0])
@pytest.mark.parametrize("document", [None, DOCUMENT], ids=["learnt", "document"])
@pytest.mark.parametrize(
    ("at_fault", "expected"),
    [
        (LINK, "link:rnic:{}|tor:{}".format(*LINK.split("|"))),
        (CLUSTER.ends[0].rnic, f"rnic:{CLUSTER.ends[0].rnic}"),
    ],
    ids=["link", "rnic"],
)
def test_one_of_the_two_links_of_an_rnic_is_told_from_the_rnic_by_routes(
    at_fault: str, expected: str, document: Topology | None, lost: float
) -> None:
    incidents = judged(UNNAMED, at_fault, lost, both=True, document=document)
    assert {each.component for each in incidents if each.parent is None} == {expected}


@pytest.mark.parametrize("lost", [0.1, 1.0])
def test_a_document_that_names_both_tors_of_an_rnic_is_as_good(lost: float) -> None:
    incidents = judged(UNNAMED, "asw10A", lost, both=True, document=DOCUMENT)
    assert {each.component for each in incidents if each.parent is None} == {"tor:asw10A"}


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("lost", "symptom"), [(0.5, "loss"), (1.0, "unconnectivity")])
def test_a_dead_tor_is_unreachable_though_paths_of_unknown_routes_are_answered(
    lost: float, symptom: str, both: bool
) -> None:
    """Records name no ToR, overlay paths are never traced, and too few probes come to call a
    five-tuple silent: what crosses the ToR for certain decides."""
    (dead,) = judged(UNNAMED, "asw10A", lost, both=both, every_s=3)
    assert (dead.component, dead.symptom) == ("tor:asw10A", symptom)
