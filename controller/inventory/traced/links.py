"""Links between switches that traceroutes do not show although they had to. No I/O."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence, Set
from itertools import combinations

from controller.inventory.traced.absence import log_missed
from controller.inventory.traced.contradiction import Contradiction, Kind, shown
from controller.inventory.traced.parameters import TracedParameters
from controller.inventory.traced.routes import Evidence, Link, Observed
from controller.ping_lists.ecmp import SwitchPaths
from schemas.documents.topology import Topology


def swapped(
    extra: dict[Link, Evidence], absent: list[Link]
) -> tuple[list[Contradiction], dict[Link, Evidence], list[Link]]:
    """Pairs of cables a-s and b-t of which routes show a-t and b-s instead; and what is left."""
    out: list[Contradiction] = []
    left, gone = dict(extra), set(absent)
    for first, second in combinations(sorted(extra), 2):
        (a, t), (b, s) = first, second
        for one, two in ((_link(a, s), _link(b, t)), (_link(a, b), _link(t, s))):
            if first not in left or second not in left or not {one, two} <= gone:
                continue
            gone -= {one, two}
            one_way, other_way = left.pop(first), left.pop(second)
            out.append(
                Contradiction(
                    "swapped ports",
                    [*one, *two],
                    f"{_dash(one)} and {_dash(two)}: no traceroute crosses them, but "
                    f"{shown(one_way)} cross {_dash(first)} and {shown(other_way)} "
                    f"{_dash(second)}; exchange them in the document, or the cables",
                    one_way.traces + other_way.traces,
                    example=str(one_way.example),
                )
            )
    return out, left, [link for link in absent if link in gone]


def stale(
    topology: Topology,
    paths: SwitchPaths,
    observed: Observed,
    absent: Sequence[Link],
    parameters: TracedParameters,
    notes: list[str],
) -> tuple[list[Contradiction], int]:
    """Links that routes had to show; and how many are not seen for want of five-tuples."""
    missed = log_missed(paths, observed.whole)
    level = math.log(parameters.level / max(len(missed), 1))
    unlikely = [link for link in absent if missed.get(link, (0.0, 0.0))[0] <= level]
    out, left = [], unlikely
    # Equal hashes leave links of many switches unused, but every switch has some that are used.
    for switch in _whole_switches(paths, set(unlikely)):
        own = [link for link in left if switch in link]
        left = [link for link in left if switch not in link]
        if own:
            log = max(missed[link][0] for link in own)
            expected = sum(missed[link][1] for link in own)
            what = f"{switch}: no traceroute crosses any of its links"
            out.append(_stale("stale switch", [switch], what, expected, log))
    if polarized := _polarized(topology, left, missed, parameters):
        notes.append(
            f"{len(polarized)} links above the ToRs carry no traced five-tuple, some at most "
            "switches of the tier: their hashes repeat the choice of the switches below "
            "(polarized), so that absence tells nothing there; give each switch a hash seed of "
            "its own"
        )
    for link in left:
        if link not in polarized:
            log, expected = missed[link]
            what = f"{_dash(link)}: no traceroute crosses it"
            out.append(_stale("stale cable", [*link], what, expected, log))
    return out, len(absent) - len(unlikely)


def _stale(kind: Kind, subject: list[str], what: str, expected: float, log: float) -> Contradiction:
    """expected  five-tuples that should cross it; log: of the probability that all miss it"""
    text = (
        f"{what}, {expected:.0f} of the traced five-tuples should (by chance: "
        f"{_probability(log)}); it is unplugged, down or drained: repair it, or take it out of the "
        "document"
    )
    return Contradiction(kind, subject, text, round(expected), math.exp(log))


def _whole_switches(paths: SwitchPaths, links: Set[Link]) -> list[str]:
    """Switches above the ToRs all of whose links are among these."""
    ends = sorted({end for link in links for end in link})
    return [
        end
        for end in ends
        if len(paths.group(end)) > 1 and all(_link(end, near) in links for near in paths.group(end))
    ]


def _polarized(
    topology: Topology,
    unlikely: Sequence[Link],
    missed: dict[Link, tuple[float, float]],
    parameters: TracedParameters,
) -> set[Link]:
    """Links between the upper tiers, where most of the lower switches have such: a switch that
    hashes like the one below it uses some of its links only."""
    tier = {switch.id: switch.tier for switch in topology.switches}
    lower: defaultdict[str, set[Link]] = defaultdict(set)
    for link in missed:
        ends = [end for end in link if tier[end] == "psw"]
        if len(ends) == 1 and tier[link[0]] != "asw" and tier[link[1]] != "asw":
            lower[ends[0]].add(link)
    with_stale = [switch for switch, own in lower.items() if own & set(unlikely)]
    if len(with_stale) < 2 or len(with_stale) <= parameters.polarized * len(lower):
        return set()
    return {link for switch in with_stale for link in lower[switch] if link in set(unlikely)}


def _probability(log: float) -> str:
    return "impossible" if log == -math.inf else f"1 in {math.exp(min(-log, 700)):.2g}"


def _dash(link: Link) -> str:
    return f"{link[0]} - {link[1]}"


def _link(a: str, b: str) -> Link:
    return min(a, b), max(a, b)
