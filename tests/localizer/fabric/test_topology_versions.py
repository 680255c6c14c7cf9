"""Which topology document holds at a second of event time."""

from __future__ import annotations

from itertools import permutations

import msgspec
import pytest
from builders.clusters import START_S, TWO_TIER

from localizer.fabric.topology_versions import TopologyVersions
from schemas.documents.times import rfc3339
from schemas.documents.topology import Topology


def document(at_s: float, fabric: str = "f1") -> Topology:
    return Topology(fabric=fabric, valid_from=rfc3339(int((START_S + at_s) * 1e9)))


EARLY, LATE = document(10), document(20.5)


@pytest.mark.parametrize("order", [*permutations([EARLY, LATE, document(15, "f2")])])
def test_a_document_holds_from_the_second_that_begins_at_its_time(order: list[Topology]) -> None:
    versions = TopologyVersions(TWO_TIER)
    versions.add(order)
    at = {second: versions.at("f1", START_S + second) for second in (9, 10, 20, 21)}
    assert at == {9: TWO_TIER, 10: EARLY, 20: EARLY, 21: LATE}


def test_the_second_document_of_a_moment_replaces_the_first() -> None:
    versions = TopologyVersions(None)
    versions.add([EARLY, other := msgspec.structs.replace(EARLY, links=[("a", "b")])])
    assert versions.at("f1", START_S + 10) is other
    assert len(versions) == 1


def test_a_document_that_is_read_again_is_no_change() -> None:
    versions = TopologyVersions(None)
    versions.add([EARLY, document(10)])
    assert versions.at("f1", START_S + 10) is EARLY


def test_a_document_without_a_time_holds_always() -> None:
    versions = TopologyVersions(None)
    versions.add([always := Topology(fabric="f1")])
    assert versions.at("f1", 0) is always


def test_a_time_that_cannot_be_read_adds_nothing() -> None:
    versions = TopologyVersions(None)
    with pytest.raises(ValueError, match="not RFC 3339"):
        versions.add([EARLY, Topology(valid_from="soon")])
    assert len(versions) == 0


def test_replaced_documents_and_those_of_other_fabrics_are_dropped() -> None:
    versions = TopologyVersions(None)
    versions.add([EARLY, LATE, document(30), document(5, "f2")])
    versions.drop_old("f1", START_S + 25)
    assert len(versions) == 2
    assert versions.at("f1", START_S + 25) is LATE
