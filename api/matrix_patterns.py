"""What a matrix of losses looks like, in words: the patterns of Pingmesh. No I/O.

Source  Guo et al., Pingmesh, SIGCOMM 2015, figure 8: normal, podset down, podset failure, spine
        failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from api.documents import Cell

Bool = npt.NDArray[np.bool_]

#: A cell is bad if it loses this share [1] and so many probes.
BAD_LOSS: Final = 0.01
LEAST_LOST: Final = 3
#: Share of the cells of a row and column, or outside of the diagonal, that make a pattern [1].
MOST: Final = 0.8
#: Other names that a row must have cells with.
_LEAST_OTHERS: Final = 2
_MOST_NAMED: Final = 5


class _Rule(NamedTuple):
    """What most cells of a name have in common: those of its row (sent), of its column (received).

    all_lost  whether all probes are lost; else some
    """

    text: str
    sent: bool
    received: bool
    all_lost: bool = False


_RULES: Final = (
    _Rule("is down: nothing to or from it is answered", sent=True, received=True, all_lost=True),
    _Rule("loses probes to and from the others", sent=True, received=True),
    _Rule("loses what it sends to the others", sent=True, received=False),
    _Rule("loses what the others send to it", sent=False, received=True),
)


def patterns(names: Sequence[str], cells: Sequence[Cell]) -> list[str]:
    """One sentence for each pattern, the widest first; a single one where all is normal.

    names  of rows and columns; cells  those with probes
    """
    if not cells:
        return ["No probes in this time."]
    size = len(names)
    probed, bad, silent = (np.zeros((size, size), bool) for _ in range(3))
    for each in cells:
        probed[each.src, each.dst] = True
        loses = each.lost >= max(LEAST_LOST, BAD_LOSS * each.sent)
        bad[each.src, each.dst] = loses
        silent[each.src, each.dst] = loses and each.lost >= each.sent
    if not bad.any():
        return [f"Normal: none of {len(cells):,} cells loses more than {100 * BAD_LOSS:.0f} %."]
    apart = ~np.eye(size, dtype=bool)
    inside = probed & ~apart
    if size > 1 and _most(bad, probed & apart) and not _most(bad, inside):
        quiet = ", probes inside each are not" if inside.any() else ""
        return [f"Spine failure: probes between them are lost{quiet}."]
    out, left = [], bad.copy()
    for rule in _RULES:
        which = (silent if rule.all_lost else bad) & left
        found = [
            n for n in range(size)
            if (not rule.sent or _line(which[n], probed[n], n))
            and (not rule.received or _line(which[:, n], probed[:, n], n))
        ]  # fmt: skip
        for n in found:
            if rule.sent:
                left[n] = False
            if rule.received:
                left[:, n] = False
        if found:
            out.append(_sentence([names[n] or "(unnamed)" for n in found], rule.text))
    if left.any():
        out.append(
            f"{int(left.sum()):,} of {len(cells):,} cells lose more than {100 * BAD_LOSS:.0f} %,"
            " no whole row and column."
        )
    return out


def _most(which: Bool, among: Bool) -> bool:
    """Whether most of some cells are so; False where there are none."""
    return bool(among.any()) and float(which[among].mean()) >= MOST


def _line(which: Bool, probed: Bool, number: int) -> bool:
    """Whether most cells of a name's row, or column, with others are so."""
    among = probed & (np.arange(len(probed)) != number)
    return int(among.sum()) >= _LEAST_OTHERS and _most(which, among)


def _sentence(names: list[str], text: str) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{shown}{more}: each {text}." if len(names) > 1 else f"{shown} {text}."
