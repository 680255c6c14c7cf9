"""What the huge pages of a slow host decide of its issue type."""

from __future__ import annotations

import pytest
from builders.agents.host_evidence import START_S, evidence

from localizer.host_evidence.collected import CollectedEvidence
from localizer.host_evidence.finding import HostFinding, Question
from localizer.host_evidence.memory.huge_pages import about_huge_pages
from schemas.documents.requests.evidence import DeviceCounters
from schemas.documents.times import rfc3339

SLOW = Question("host:h1", ("host:h1",), "high_latency")
SIZE = "hugepages-1048576kB"


def reading(at_s: int = 0, device: str = "hugepages", **values: int) -> DeviceCounters:
    named = {f"{SIZE}/{name}": value for name, value in values.items()}
    return DeviceCounters(device, rfc3339((START_S + at_s) * 10**9), named)


def decided(*readings: DeviceCounters, question: Question = SLOW) -> HostFinding | None:
    return about_huge_pages(question, "h1", readings)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"nr_hugepages": 3, "boot": 16}, "3 hugepages-1048576kB, the kernel's command line asks"),
        ({"nr_hugepages": 0, "at_start": 64}, "0 hugepages-1048576kB, when its agent began"),
    ],
)
def test_a_slow_host_with_fewer_pages_than_planned_is_misconfigured(
    values: dict[str, int], text: str
) -> None:
    found = decided(reading(**values))
    assert found is not None
    assert (found.component, found.issue_type, found.decides) == (
        "host:h1", "hugepage_misconfiguration", False
    )  # fmt: skip
    assert text in found.text


def test_a_pool_that_is_all_in_use_is_as_it_should_be() -> None:
    assert decided(reading(nr_hugepages=16, free_hugepages=0, boot=16, at_start=16)) is None
    assert decided(reading(nr_hugepages=32, free_hugepages=0, boot=16, at_start=16)) is None
    assert decided() is None


def test_the_newest_reading_counts() -> None:
    well, lost = ({"nr_hugepages": n, "boot": 16} for n in (16, 2))
    assert decided(reading(9, **well), reading(0, **lost)) is None
    assert decided(reading(0, **well), reading(9, **lost)) is not None


@pytest.mark.parametrize(
    "question",
    [
        Question("host:h1", ("host:h1",), "loss"),
        Question("host:h2", ("host:h2", "host:h1"), "high_latency"),
        Question("rnic:10.0.0.1", ("rnic:10.0.0.1", "host:h1"), "high_latency"),
    ],
)
def test_pages_say_nothing_of_other_components_and_symptoms(question: Question) -> None:
    assert decided(reading(nr_hugepages=0, boot=16), question=question) is None


def test_counters_of_a_port_are_no_huge_pages() -> None:
    assert decided(reading(device="eth0", nr_hugepages=0, boot=16)) is None


def test_huge_pages_of_an_answered_request_decide_the_type_of_a_host() -> None:
    known = CollectedEvidence()
    known.add(evidence("h1", counters=[reading(nr_hugepages=0, at_start=8)]))
    found = known.answer("I1", SLOW, "f1", {})
    assert found is not None
    assert found.issue_type == "hugepage_misconfiguration"
    other = CollectedEvidence()
    other.add(evidence("h2", counters=[reading(nr_hugepages=0, at_start=8)]))
    assert other.answer("I1", SLOW, "f1", {}) is None, "a host speaks of itself only"
