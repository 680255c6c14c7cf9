"""How much likelier losses are if a link loses, or several do, than if their switch does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from localizer.fabric.observability import Classes
from localizer.verdicts.rules.loss.joint_fit import (
    either_log_likelihood,
    log_likelihood,
    partial_log_likelihood,
)
from schemas.component_ids import link_ends

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def ends_of(groups: Classes, column: int) -> list[int]:
    """Classes of the switches at the ends of a link's class, without that class itself."""
    ends = {end for name in groups.members[column] for end in link_ends(name)}
    return [each for each in groups.of_components(ends) if each != column]


def joins_switches(groups: Classes, column: int) -> bool:
    """Whether a class of links joins switches: of an rnic's link only the ToR may be unknown."""
    ends = [end for name in groups.members[column] for end in link_ends(name)]
    return not any(end.startswith("rnic:") for end in ends)


def links_of(groups: Classes, column: int, inside: I64) -> I64:
    """Classes of links inside a class: of a switch those that end at it, where there are some.

    inside  (n,) classes all of whose paths cross the class
    """
    links = inside[groups.directed[inside]]
    own = [column in ends_of(groups, each) for each in links.tolist()]
    return links[own] if any(own) else links


def most_explaining(groups: Classes, links: I64, lost: I64, most: int) -> list[int]:
    """Those of some links that explain most losses each, the first few.

    lost  (P,) probes since the trouble began
    """
    explained = [
        (float(lost[certainly(groups, each) > 0].sum()), float(lost[groups.share(each) > 0].sum()))
        for each in links.tolist()
    ]
    order = sorted(range(len(links)), key=lambda n: (explained[n], n), reverse=True)
    return [int(links[n]) for n in order[:most]]


def together_explaining(groups: Classes, links: I64, lost: I64, most: int) -> list[int]:
    """Links that explain most losses together: each of what those before it leave over.

    Arguments as of ``most_explaining``.
    """
    left, rest, out = lost.copy(), links.tolist(), list[int]()
    crossed = {each: (certainly(groups, each) > 0, groups.share(each) > 0) for each in rest}
    while rest and len(out) < most:
        explained = [tuple(float(left[mask].sum()) for mask in crossed[each]) for each in rest]
        out.append(rest.pop(max(range(len(rest)), key=lambda n: (explained[n], n))))
        left[crossed[out[-1]][0]] = 0
    return out


def certainly(groups: Classes, column: int) -> F64:
    """(P,) how often a round trip certainly crosses a class."""
    there, back = groups.certain(column)
    return there.astype(np.float64) + back


def _by_direction(groups: Classes, column: int, rows: I64) -> tuple[F64, F64]:
    """(n,) (n,) probability that requests of some paths cross a class, and that answers do: alike,
    where neither is certain."""
    share = groups.share(column)[rows]
    there, back = (each[rows] for each in groups.certain(column))
    other = np.maximum(2.0 * share - 1.0, 0.0)
    return (
        np.where(there, 1.0, np.where(back, other, share)),
        np.where(back, 1.0, np.where(there, other, share)),
    )


def nats_above_end(
    groups: Classes, column: int, end: int, sent: I64, lost: I64, healthy: float,
    *, alone: bool = True,
) -> float:  # fmt: skip
    """ln of how much likelier the counts are if the link loses than if the switch does, each at
    the loss of a crossing that suits it best.

    column, end  classes of the link and of the switch
    sent, lost   (P,) probes since the trouble began, 0 of paths that do not count
    healthy      loss of a round trip that crosses neither [1]
    alone        nothing else loses, so that each path whose route is not known crosses them or does
                 not; if not, what is lost where routes over the switch are unknown may be lost
                 elsewhere, and has a loss of its own (``nats_above_links``)
    """
    switch = groups.share(end)
    rows = np.flatnonzero((switch > 0) & (sent > 0))
    n, k = sent[rows].astype(np.float64), lost[rows].astype(np.float64)
    crossed = certainly(groups, end)[rows]
    if alone or not crossed.any():
        there, back = _by_direction(groups, column, rows)
        none = np.zeros(len(rows))
        of_link = max(
            either_log_likelihood(*each, n, k, healthy)
            for each in ((there, back), (there, none), (none, back))
        )
        return of_link - either_log_likelihood(*_by_direction(groups, end, rows), n, k, healthy)
    link = groups.share(column)[rows]
    ways = [2.0 * link, *(each[rows].astype(np.float64) for each in groups.certain(column))]
    unknown = np.maximum(2.0 * switch[rows] - crossed, 0.0)
    best, of_switch = (
        max(log_likelihood(np.stack([each, unknown], axis=1), n, k, healthy) for each in some)
        for some in (ways, [crossed])
    )
    return best - of_switch


def nats_above_links(
    groups: Classes, column: int, links: Sequence[int], sent: I64, lost: I64, healthy: float,
    *, partial: bool,
) -> Iterator[float]:  # fmt: skip
    """ln of how much likelier the counts are if a switch loses than if the first two of its links
    do, then the first three, and so on, at the losses of a crossing that suit them best.

    partial  the switch drops the probes of a share of the five-tuples only
    Other arguments as of ``nats_above_end``.

    What is lost where a route is not known may be lost elsewhere too, so it has a loss of its own:
    where answers are not traced, those of each path over the switch come back over other bad links,
    and only the switch would explain what no link of it does.
    """
    switch = groups.share(column)
    rows = np.flatnonzero((switch > 0) & (sent > 0))
    n, k = sent[rows], lost[rows]
    crossed = certainly(groups, column)[rows]
    inside = [certainly(groups, each)[rows] for each in links]
    if crossed.any():
        unknown = np.maximum(2.0 * switch[rows] - crossed, 0.0)
    else:
        crossed, unknown = 2.0 * switch[rows], np.zeros(len(rows))
        inside = [2.0 * groups.share(each)[rows] for each in links]
    if partial:
        of_switch = partial_log_likelihood(crossed, unknown, n, k, healthy)
    else:
        of_switch = log_likelihood(np.stack([crossed, unknown], axis=1), n, k, healthy)
    for some in range(2, len(links) + 1):
        of_links = np.stack([*inside[:some], unknown], axis=1)
        yield of_switch - log_likelihood(of_links, n, k, healthy)
