"""How long a reply takes from the responder's stamp in it to the kernel's sending. No I/O.

The stamp of sending is part of the reply and authenticated, so it is taken before the MAC is
computed and the kernel is called: some 35 us too early on an idle host, and a round trip would be
as much too long. The kernel reports the true time only afterwards. Some replies therefore ask for
it, and each reply is stamped with the present time plus the lower quartile of the latest delays:
that is close to the median of the replies that do not ask, because asking takes some 2 us itself.
"""

from __future__ import annotations

from collections import deque
from typing import Final

#: Delays of which the quartile is taken; few, so that a CPU that is clocked otherwise counts soon.
_KEPT: Final = 15
#: One of so many replies asks for the kernel's stamp; all of them until so many are kept.
_EACH: Final = 16
#: A longer delay is a process that was held up, not a way through the kernel [ns].
_LONGEST_NS: Final = 1_000_000


class SendDelay:
    """The usual delay of sending, from replies whose stamps the kernel reported."""

    def __init__(self) -> None:
        self._delays: deque[int] = deque(maxlen=_KEPT)
        self._until_next = 0
        #: The usual delay [ns]; 0: none is known.
        self.usual_ns = 0

    def is_due(self) -> bool:
        """Whether the next reply should ask for the kernel's stamp; call once a reply."""
        if self._until_next > 0:
            self._until_next -= 1
            return False
        self._until_next = _EACH - 1 if len(self._delays) == _KEPT else 0
        return True

    def add(self, delay_ns: int) -> None:
        """The kernel sent a reply ``delay_ns`` after ``now_ns`` of ``Responder.reply``; delays
        that no kernel takes (a held up process, a wall clock that was set) are ignored."""
        if 0 < delay_ns <= _LONGEST_NS:
            self._delays.append(delay_ns)
            self.usual_ns = sorted(self._delays)[len(self._delays) // 4]
