"""The controllers of a site, of which one leads: the one that answered last is asked first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from probers.ping_list.document import PingListError

T = TypeVar("T")

#: Controllers of a site: each that hangs costs a deadline.
MAX_CONTROLLERS: Final = 4


class Controllers:
    """For one thread. urls: as http://controller:8770; one at least."""

    def __init__(self, urls: Sequence[str]) -> None:
        self.urls = [url.rstrip("/") for url in urls]
        self._at = 0

    @property
    def current(self) -> str:
        """The one that answered last; the first one before."""
        return self.urls[self._at]

    def first(self, ask: Callable[[str], T]) -> T:
        """What the first one answers for which ``ask(url)`` does not raise PingListError.

        Raises PingListError where none does: one line with the reason of each.
        """
        reasons = []
        for step in range(len(self.urls)):
            at = (self._at + step) % len(self.urls)
            try:
                answer = ask(self.urls[at])
            except PingListError as why:
                reasons.append(str(why))
            else:
                self._at = at
                return answer
        raise PingListError("; ".join(reasons))
