"""Evidence documents by incident, and what they decide of it. No I/O, no clock.

A request counts when its last document has come, so that the order in which the documents of one
come does not matter. A host speaks of itself only: of rnics that are its own, of its own vSwitch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from localizer.host_evidence.finding import HostFinding, Question
from localizer.host_evidence.flow_rules import Reading, about_forwarding, about_offloading
from localizer.host_evidence.memory.huge_pages import about_huge_pages
from localizer.host_evidence.parameters import DEFAULT, HostEvidenceParameters
from localizer.host_evidence.port_rules import about_port
from localizer.host_evidence.port_signs import signs
from localizer.host_evidence.printed.flow_dumps import NoDump, parse
from schemas.documents.requests.evidence import Evidence
from schemas.documents.times import seconds_of


class _Key(NamedTuple):
    """Where a document belongs; of one incident, in an order that does not depend on arrival."""

    host: str
    request_id: str
    number: int


class CollectedEvidence:
    """The newest evidence about incidents of one fabric, bounded."""

    def __init__(self, parameters: HostEvidenceParameters = DEFAULT) -> None:
        self._parameters = parameters
        self._documents: dict[str, dict[_Key, Evidence]] = {}
        self._asked: dict[str, Question] = {}  # what has been answered from what is there

    def __len__(self) -> int:
        """Documents that are remembered [count]."""
        return sum(map(len, self._documents.values()))

    def add(self, evidence: Evidence) -> None:
        """Take a document about counters or flow tables of an incident; others say nothing here.

        Raises ValueError when a time cannot be read; then the document is left out.
        """
        name = evidence.incident_id
        if not name or evidence.kind not in ("counters", "flow_table"):
            return
        for each in evidence.counters:
            seconds_of(each.time)
        known = self._documents.setdefault(name, {})
        key = _Key(evidence.node_sn, evidence.request_id, evidence.number)
        if key in known or len(known) >= self._parameters.documents:
            return
        known[key] = evidence
        self._asked.pop(name, None)
        self._documents[name] = self._documents.pop(name)  # the newest one
        while len(self) > self._parameters.held:
            oldest = next(iter(self._documents))
            del self._documents[oldest]
            self._asked.pop(oldest, None)

    def has_news(self, incident_id: str, question: Question) -> bool:
        """Whether there is evidence by which this question has not been answered yet."""
        return incident_id in self._documents and self._asked.get(incident_id) != question

    def answer(
        self, incident_id: str, question: Question, fabric: str, owners: Mapping[str, str]
    ) -> HostFinding | None:
        """What the evidence of hosts of a fabric decides; None where it decides nothing.

        owners  address of an rnic -> its host, as probes name it
        Of several findings the one that decides most counts, of equal ones the first host's.
        """
        self._asked[incident_id] = question
        by_host = self._of(incident_id, fabric)
        best: HostFinding | None = None
        for found in [*self._ports(question, by_host, owners),
                      *self._tables(question, by_host, owners),
                      *_memory(question, by_host)]:  # fmt: skip
            if found is not None and (best is None or found.replaces(best)):
                best = found
        return best

    def _of(self, incident_id: str, fabric: str) -> dict[str, list[Evidence]]:
        """Host -> its documents of requests that have ended, in order."""
        documents = self._documents.get(incident_id, {})
        known = {key: each for key, each in documents.items() if each.fabric == fabric}
        ended = {key.request_id for key, each in known.items() if each.state != "running"}
        found = defaultdict(list)
        for key in sorted(known):
            if key.request_id in ended:
                found[key.host].append(known[key])
        return dict(found)

    def _ports(
        self,
        question: Question,
        by_host: Mapping[str, Sequence[Evidence]],
        owners: Mapping[str, str],
    ) -> list[HostFinding | None]:
        found = []
        for host, documents in by_host.items():
            of_rnic = defaultdict(list)
            for each in (port for document in documents for port in document.counters):
                if each.rnic and owners.get(each.rnic) == host:
                    of_rnic[each.rnic].append(each)
            for rnic, ports in sorted(of_rnic.items()):
                ports.sort(key=lambda port: (seconds_of(port.time), port.device))
                before: dict[tuple[str, str], int] = {}
                after: dict[tuple[str, str], int] = {}
                for port in ports:
                    values = {(port.device, name): each for name, each in port.values.items()}
                    before, after = values | before, after | values
                shown = signs(_by_name(before), _by_name(after), self._parameters)
                found.append(about_port(question, rnic, shown, self._parameters))
        return found

    def _tables(
        self,
        question: Question,
        by_host: Mapping[str, Sequence[Evidence]],
        owners: Mapping[str, str],
    ) -> list[HostFinding | None]:
        readings: dict[str, list[Reading]] = {}
        for host, documents in by_host.items():
            for each in documents:
                if each.flow_table:
                    try:
                        dumps = parse(each.flow_table, self._parameters)
                    except NoDump:  # the reader of the topic has said so
                        continue
                    readings.setdefault(host, []).append((dumps, not each.truncated))
        newest = {host: own[-1] for host, own in readings.items()}
        return [
            finding
            for host in readings
            for finding in (
                about_forwarding(question, host, newest, owners, self._parameters),
                about_offloading(question, host, readings, self._parameters),
            )
        ]


def _memory(
    question: Question, by_host: Mapping[str, Sequence[Evidence]]
) -> list[HostFinding | None]:
    return [
        about_huge_pages(question, host, [each for document in documents
                                          for each in document.counters])
        for host, documents in by_host.items()
    ]  # fmt: skip


def _by_name(values: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """Counters of all devices of an rnic; of those that two have, that of the first device."""
    found: dict[str, int] = {}
    for (_, name), each in sorted(values.items()):
        found.setdefault(name, each)
    return found
