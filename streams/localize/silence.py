"""How long nothing has come of a fabric, though it would have. No I/O, no clock.

A fabric whose agents are all dead sends nothing, so no second of it is judged: only its silence
shows the outage. Silence counts while the broker answers and has nothing left to read: a broker
that is away, or a stage that is behind, is no outage of the fabric.
"""

from __future__ import annotations

from typing import Final

from localizer.verdicts.parameters import ScopeOutageParameters

#: Ticks, of one second each, until a silent fabric is looked at.
SILENT_TICKS: Final = int(ScopeOutageParameters().unseen_s)


class SilenceCounter:
    """Counts ticks without a message of a fabric."""

    def __init__(self) -> None:
        self._offset = -1
        self._ticks = 0

    def tick(self, offset: int, *, read_to_end: bool) -> bool:
        """Whether the fabric has been silent for SILENT_TICKS with this tick; true once a silence.

        offset       of the newest message of the fabric
        read_to_end  the broker says that nothing of the fabric's partition is still to come
        """
        silent = read_to_end and offset == self._offset
        self._offset = offset
        self._ticks = self._ticks + 1 if silent else 0
        return self._ticks == SILENT_TICKS
