"""A document says where rnics are; of several ToRs of one rnic, records may know which is taken."""

from __future__ import annotations

from builders.clusters import End, path, request
from builders.incidences import incidence_of, learn_route

from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.path_table import Path
from schemas.component_ids import kind_of
from schemas.documents.topology import Host, Rnic, Switch, Topology

SWITCHES = {"tor", "agg", "spine"}
#  h1.r1 - (t1, t2) - (s1, s2) - t3 - h2.r2
BONDED = Topology(
    fabric="f1",
    hosts=[Host("h1", [Rnic("r1", asws=["t1", "t2"])]), Host("h2", [Rnic("r2", asw="t3")])],
    switches=[*(Switch(f"t{n}", "asw") for n in (1, 2, 3, 4)), Switch("s1", "dsw"),
              Switch("s2", "dsw")],
    links=[(f"t{n}", s) for n in (1, 2, 3, 4) for s in ("s1", "s2")],
)  # fmt: skip


def crossed(incidence: Incidence, way: int) -> dict[str, float]:
    """Switch -> probability that the only path's request (1) or answer (2) crosses it."""
    (row,) = incidence.factored().matrices()[way].toarray()
    shares = zip(incidence.components, row.tolist(), strict=True)
    return {name.split(":")[1]: v for name, v in shares if v and kind_of(name) in SWITCHES}


def between(src: str, dst: str) -> Path:
    """From r1 to r2, whose access switches the records call so."""
    return path(End("c1", "h1", "r1", src), End("c2", "h2", "r2", dst))


def test_without_a_record_each_tor_of_a_bonded_rnic_is_as_probable() -> None:
    for asw in ("", "t9"):  # t9: none of them
        incidence = incidence_of([between(asw, asw)], BONDED)
        for way in (1, 2):
            assert crossed(incidence, way) == {
                "t1": 0.5, "t2": 0.5, "s1": 0.5, "s2": 0.5, "t3": 1.0,
            }  # fmt: skip


def test_a_record_may_know_which_tor_the_request_takes_and_not_which_the_answer() -> None:
    incidence = incidence_of([between("t2", "t3")], BONDED)
    assert crossed(incidence, 1) == {"t2": 1.0, "s1": 0.5, "s2": 0.5, "t3": 1.0}
    assert crossed(incidence, 2) == {"t1": 0.5, "t2": 0.5, "s1": 0.5, "s2": 0.5, "t3": 1.0}


def test_a_route_counts_that_begins_at_any_tor_of_the_rnic_and_no_other() -> None:
    for first, share in (("t1", 1.0), ("t2", 1.0), ("t4", 0.5)):
        incidence = incidence_of([between("", "")], BONDED)
        learn_route(incidence, request(between("", "")), [first, "s1", "t3"])
        assert crossed(incidence, 1)["s1"] == share
