"""Where traceroutes contradict a topology document, each difference by its cause. No I/O.

What a route shows is evidence by itself: an rnic behind another switch, a link or a switch that the
document does not have. What no route shows is evidence where routes had to cross it (``absence``).
Two cables that were exchanged show both, and are one contradiction.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.inventory.traced import links, rnics
from controller.inventory.traced.contradiction import Contradiction, shown
from controller.inventory.traced.parameters import DEFAULT, TracedParameters
from controller.inventory.traced.routes import Evidence, Observed, links_of
from controller.ping_lists.ecmp import SwitchPaths
from schemas.documents.topology import Topology


@dataclass(frozen=True, slots=True)
class Comparison:
    """All contradictions, and what the comparison rests on.

    traces     traceroutes that were read
    links      links between switches in the document; seen: those that routes show
    unknown     links that are not seen and may well be missed: too few five-tuples
    notes      what was not counted, and why
    """

    contradictions: list[Contradiction]
    traces: int
    links: int
    seen: int
    unknown: int
    notes: list[str]


def compare(
    topology: Topology, observed: Observed, parameters: TracedParameters = DEFAULT
) -> Comparison:
    """Compare a document with what traceroutes show."""
    found: list[Contradiction] = []
    notes: list[str] = []
    once = 0

    def enough(evidence: Evidence) -> bool:
        nonlocal once
        once += evidence.traces < parameters.least_traces
        return evidence.traces >= parameters.least_traces

    found += rnics.elsewhere(topology, observed, _enough_of(observed.at, parameters))
    documented = list(links_of(topology))
    paths = SwitchPaths(topology)
    extra = {
        link: evidence
        for link, evidence in observed.links.items()
        if link not in set(documented) and enough(evidence)
    }
    absent = [link for link in documented if link not in observed.links]
    swapped, extra, absent = links.swapped(extra, absent)
    found += swapped
    found += [
        Contradiction(
            "unlisted link", list(link),
            f"{link[0]} - {link[1]}: not in the document, but {shown(evidence)} cross it; add the "
            "link",
            evidence.traces, example=str(evidence.example),
        )
        for link, evidence in sorted(extra.items())
    ]  # fmt: skip
    stale, unknown = links.stale(topology, paths, observed, absent, parameters, notes)
    found += stale
    for hop, evidence in sorted(observed.unknown.items()):
        if enough(evidence):
            found.append(_unknown(hop, evidence, observed, paths))
    found += [
        Contradiction(
            "unknown rnic", [rnic],
            f"{rnic}: no rnic of the document, but {shown(evidence)} begin or end there; add it to "
            "its host",
            evidence.traces, example=str(evidence.example),
        )
        for rnic, evidence in sorted(observed.strangers.items())
    ]  # fmt: skip
    if once:
        notes.append(
            f"{once} links and hops that one traceroute shows are not counted: its hops may be of "
            "two routes"
        )
    seen = sum(link in observed.links for link in documented)
    return Comparison(found, observed.traces, len(documented), seen, unknown, notes)


def _enough_of(
    at: dict[tuple[str, str], Evidence], parameters: TracedParameters
) -> dict[tuple[str, str], Evidence]:
    """Places of rnics that enough traceroutes show."""
    return {key: e for key, e in at.items() if e.traces >= parameters.least_traces}


def _unknown(hop: str, evidence: Evidence, observed: Observed, paths: SwitchPaths) -> Contradiction:
    sides = sorted(observed.between[hop], key=str)
    candidates = frozenset.intersection(*(
        paths.group(a) & paths.group(b) if a and b else paths.group(a or b or "") for a, b in sides
    ))  # fmt: skip
    a, b = sides[0]
    where = f"between {a} and {b}" if a and b else f"next to {a or b}" if a or b else "alone"
    may_be = f"; {next(iter(candidates))} is the only switch there" if len(candidates) == 1 else ""
    return Contradiction(
        "unknown switch", [hop],
        f"{hop}: no switch and no address of one, but {shown(evidence)} cross it {where}{may_be}; "
        "add the switch, or the address to its switch",
        evidence.traces, example=str(evidence.example),
    )  # fmt: skip
