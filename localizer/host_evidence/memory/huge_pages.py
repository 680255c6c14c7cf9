"""Huge pages of a host -> the issue type of its slowness. Pure.

A vSwitch in user space and RDMA memory live in huge pages. How many a host needs is not in its
counters: a process takes its pages when it starts, so that none are free on a healthy host. But a
pool that is smaller than what the kernel was asked for at boot, or than it was when the agent
began, has lost pages that somebody had planned.

Source  Linux, Documentation/admin-guide/mm/hugetlbpage.rst: a pool that cannot be filled stays
        smaller, without an error
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from localizer.host_evidence.finding import HostFinding, Question
from schemas.component_ids import component
from schemas.documents.requests.evidence import DeviceCounters
from schemas.documents.times import seconds_of

#: The device of these counters, as agents name it.
DEVICE: Final = "hugepages"
_POOL: Final = "nr_hugepages"
_WANTED: Final = {
    "boot": "the kernel's command line asks for",
    "at_start": "when its agent began there were",
}


def about_huge_pages(
    question: Question, host: str, counters: Sequence[DeviceCounters]
) -> HostFinding | None:
    """What the newest reading of a host decides; None where its pools are as planned.

    The slow component must be the host itself: an rnic or a switch that is slow is not slow for
    want of pages. The component stays: pages say why a host is slow, not that it is the host.
    """
    own = component("host", host)
    readings = [each for each in counters if each.device == DEVICE and not each.rnic]
    if question.symptom != "high_latency" or question.component != own or not readings:
        return None
    values = max(readings, key=lambda each: seconds_of(each.time)).values
    for name, pages in sorted(values.items()):
        size, _, what = name.rpartition("/")
        if what != _POOL:
            continue
        for wanted, text in _WANTED.items():
            if pages < values.get(f"{size}/{wanted}", 0):
                why = f"{pages:,} {size}, {text} {values[f'{size}/{wanted}']:,}"
                return HostFinding(own, "hugepage_misconfiguration", f"host {host}: {why}",
                                   decides=False, symptom=question.symptom)  # fmt: skip
    return None
