"""Pauses between attempts: they grow, and differ between notifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Pauses:
    """first_s    before the second attempt [s]
    longest_s  between two attempts; so long after its recovery a receiver is asked again [s]
    """

    first_s: float = 1.0
    longest_s: float = 60.0

    def pause_s(self, failures: int, random: float, after_s: float = 0.0) -> float:
        """Before the next attempt [s].

        failures  attempts that failed so far, 1 or more
        random    0..1: of the pause, between a half and all is taken
        after_s   what the receiver asks for; at most the longest pause is granted
        """
        grown = min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, 32))
        return max(grown * (0.5 + random / 2), min(after_s, self.longest_s))


DEFAULT: Final = Pauses()
