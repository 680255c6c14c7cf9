"""Rnics that traceroutes show behind another access switch than the document. No I/O."""

from __future__ import annotations

from controller.inventory.traced.contradiction import Contradiction, shown
from controller.inventory.traced.routes import Evidence, Observed
from schemas.documents.topology import Topology


def elsewhere(
    topology: Topology, observed: Observed, at: dict[tuple[str, str], Evidence]
) -> list[Contradiction]:
    """Rnics that are seen behind another switch than the document's; pairs of them exchanged."""
    of = {rnic.real_ip: (host.node_sn, rnic) for host in topology.hosts for rnic in host.rnics}
    moved = {
        rnic: (switch, evidence)
        for (rnic, switch), evidence in sorted(at.items())
        if of[rnic][1].tors and switch not in of[rnic][1].tors
    }
    out: list[Contradiction] = []
    done: set[str] = set()
    for rnic, (switch, evidence) in moved.items():
        if rnic in done:
            continue
        host, own = of[rnic]
        own_seen = (rnic, own.asw) in observed.at
        others = [
            other
            for other, (there, _) in moved.items()
            if other not in done and there == own.asw and of[other][1].asw == switch
            and not own_seen and (other, switch) not in observed.at
        ]  # fmt: skip
        if others:
            other = min(others, key=lambda o: (of[o][0] != host, of[o][1].rail != own.rail, o))
            done |= {rnic, other}
            theirs = moved[other][1]
            out.append(Contradiction(
                "swapped ports", [rnic, other],
                f"{rnic} of {host} and {other} of {of[other][0]}: the document has them behind "
                f"{own.asw} and {switch}, but {shown(evidence)} have the first behind "
                f"{switch} and {shown(theirs)} the second behind {own.asw}; exchange them in the "
                "document, or the cables",
                evidence.traces + theirs.traces, example=str(evidence.example),
            ))  # fmt: skip
            continue
        done.add(rnic)
        also = observed.at.get((rnic, own.asw))
        out.append(Contradiction(
            "rnic elsewhere", [rnic],
            f"{rnic} of {host}: behind {' and '.join(own.tors)} in the document, but "
            f"{shown(evidence)} have it behind {switch}"
            f"{f' ({also.traces} not)' if also else ''}; correct its asw{'s' * own.bonded}",
            evidence.traces, example=str(evidence.example),
        ))  # fmt: skip
    return out
