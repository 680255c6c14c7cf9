"""The tier of each switch of a fabric without a topology, from records and routes. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

THREE_TIERS = 5  # hops of a route that goes up two tiers and down again


class Tiers:
    """Kinds of switches by their numbers.

    Records come first (``*_asw``: tor, ``*_dsw``: spine), then the position on complete routes. A
    switch above a ToR is a spine until a route shows three tiers: then it is an agg, and the middle
    of such a route is a spine. The result does not depend on the order in which records and routes
    arrive.

    Example: after the route t1, x, t2 switch x is a spine; after t1, x, y, z, t2 it is an agg.
    """

    def __init__(self) -> None:
        self._recorded: dict[int, str] = {}
        self._placed: dict[int, str] = {}
        self._three = False

    def kind(self, number: int) -> str:
        """tor, agg or spine."""
        above = "agg" if self._three else "spine"
        return self._recorded.get(number) or self._placed.get(number) or above

    def record(self, number: int, kind: str) -> None:
        """A record calls a switch a ToR or a spine; what is both is a ToR."""
        if self._recorded.get(number) != "tor":
            self._recorded[number] = kind

    def learn(self, route: Sequence[int], switches: int) -> Iterable[int]:
        """Learn from a complete route; returns the switches that may have a new kind.

        switches  how many there are in the graph
        """
        self._place(route[0], "tor")
        if len(route) < THREE_TIERS:
            return route
        top = len(route) // 2
        for at, number in enumerate(route[1:-1], 1):
            self._place(number, "spine" if at == top else "agg")
        first, self._three = not self._three, True
        return range(switches) if first else route

    def adopt(self, other: Tiers, number: Mapping[int, int]) -> None:
        """Copy what another graph of this fabric knows; number: its switches -> ours."""
        self._three = self._three or other._three
        for old, new in number.items():
            if old in other._recorded:
                self.record(new, other._recorded[old])
            if old in other._placed:
                self._place(new, other._placed[old])

    def _place(self, number: int, kind: str) -> None:
        order = ("tor", "agg", "spine")  # the lowest position counts
        known = self._placed.get(number)
        if known is None or order.index(kind) < order.index(known):
            self._placed[number] = kind
