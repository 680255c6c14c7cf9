"""Flow tables of hosts -> the component and the issue type of an incident in the overlay. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localizer.host_evidence.finding import HostFinding, Question
from localizer.host_evidence.forwarding import Overlay, VSwitch
from localizer.host_evidence.offloading import Tables, of_rnics, tables, vanished
from localizer.host_evidence.parameters import DEFAULT, HostEvidenceParameters
from localizer.host_evidence.printed.flow_dumps import DatapathFlow, Dump, Rule
from schemas.component_ids import component

#: Dumps of one reading of a host, and whether they are whole: a cut one lacks rules that are there.
Reading = tuple[Sequence[Dump], bool]


def about_forwarding(
    question: Question,
    host: str,
    newest: Mapping[str, Reading],
    owners: Mapping[str, str],
    parameters: HostEvidenceParameters = DEFAULT,
) -> HostFinding | None:
    """A missing next hop or a loop in the tables of a host whose vSwitch is in question.

    newest  host -> its newest reading; the more hosts, the more chains can be walked
    owners  address of a tunnel's end (an rnic) -> host
    """
    own = component("vswitch", host)
    if question.symptom == "high_latency" or own not in question.tie_set or host not in newest:
        return None
    vswitches = [each for name in sorted(newest) for each in _vswitches(name, newest[name])]
    broken = Overlay(vswitches, owners, parameters).broken(host)
    if not broken:
        return None
    others = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    return HostFinding(own, None, f"{broken[0]}{others}", decides=True, symptom=question.symptom)


def about_offloading(
    question: Question,
    host: str,
    readings: Mapping[str, Sequence[Reading]],
    parameters: HostEvidenceParameters = DEFAULT,
) -> HostFinding | None:
    """Flows that are not in the rnic's table, of a host whose overlay is slow.

    readings  host -> its readings, oldest first; those of other hosts show whether flows are
              offloaded at this site at all
    """
    if question.symptom != "high_latency":
        return None
    own = _tables(readings.get(host, ()), parameters)
    if not own or not any(each.expected for each in own):
        return None
    others = [
        each for name, theirs in readings.items() if name != host
        for each in _tables(theirs, parameters) if each.expected
    ]  # fmt: skip
    if others and not any(each.offloaded for each in [*others, *own]):
        return None  # no host offloads: that is how the site is, and no fault
    newest = own[-1]
    vswitch = component("vswitch", host)
    if (gone := vanished(own)) and vswitch in question.tie_set:
        return _found(question, vswitch, "repetitive_flow_offloading", host, gone,
                      "left the rnic's table while in use")  # fmt: skip
    if not newest.missing:
        return None
    for rnic, (offloaded, of) in sorted(of_rnics(newest).items()):
        name = component("rnic", rnic)
        if offloaded == 0 and name in question.tie_set and newest.offloaded > 0:
            text = f"vswitch {host}: none of {of} flows of rnic {rnic} is in the rnic's table"
            return HostFinding(name, "offloading_failure", f"{text}, flows of others are",
                               decides=True, symptom=question.symptom)  # fmt: skip
    if vswitch in question.tie_set:
        issue = "suboptimal_flow_offloading" if newest.offloaded else "not_using_rdma"
        missing = [newest.missing[key] for key in sorted(newest.missing)]
        what = f"of {len(newest.expected)} are not in the rnic's table"
        return _found(question, vswitch, issue, host, missing, what)
    return None


def _found(
    question: Question, name: str, issue: str, host: str, flows: list[DatapathFlow], what: str
) -> HostFinding:
    text = f"vswitch {host}: {len(flows)} flows {what}, e.g. '{flows[0].match[:160]}'"
    return HostFinding(name, issue, text, decides=True, symptom=question.symptom)


def _tables(readings: Sequence[Reading], parameters: HostEvidenceParameters) -> list[Tables]:
    """Those that were not cut: what a cut one lacks may be there."""
    found = [tables(dumps, parameters) for dumps, whole in readings if whole]
    return [each for each in found if each is not None]


def _vswitches(host: str, reading: Reading) -> list[VSwitch]:
    dumps, whole = reading
    found = {}
    for number, dump in enumerate(dumps):
        if not dump.of_datapath:
            by_table: dict[int, list[Rule]] = {}
            for rule in dump.rules:
                by_table.setdefault(rule.table, []).append(rule)
            found[dump.bridge or str(number)] = VSwitch(host, dump.bridge, by_table, whole)
    return list(found.values())
