"""What containers have said about themselves, and which of them are ready. No I/O, no clock.

A container that falls silent stays ready for a while: a crash is then seen by the probes that it
does not answer, and an agent that is started again makes no list change.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

State = Literal["starting", "ready", "draining"]
STATES: Final[tuple[State, ...]] = ("starting", "ready", "draining")
#: A ready container whose connection has broken drains after so long [s]; and for so long after
#: the start of the host's agent, containers that were ready before may connect again.
GRACE_S: Final = 30.0


class _Word(NamedTuple):
    """The last word of a container; lost_s: when its connection broke, None: it is open."""

    state: State
    lost_s: float | None = None


class Readiness:
    """By node_id. All times are of one clock [s].

    started_s  when the host's agent began to listen
    """

    def __init__(self, started_s: float) -> None:
        self._started_s = started_s
        self._words: dict[str, _Word] = {}

    def said(self, node_id: str, state: State) -> None:
        """The container has connected, or has said what it is."""
        self._words[node_id] = _Word(state)

    def closed(self, node_id: str, now_s: float) -> None:
        """Its connection is closed."""
        word = self._words.get(node_id)
        if word is None or word.state != "ready":
            self._words.pop(node_id, None)
        else:
            self._words[node_id] = _Word(word.state, now_s)

    def ready(self, placed: Collection[str], now_s: float) -> tuple[str, ...] | None:
        """Those of the host's containers that are ready, sorted.

        placed   containers of the ping list
        returns  None: after its start, the host's agent waits for some of them
        """
        self._words = {
            node_id: word
            for node_id, word in self._words.items()
            if word.lost_s is None or now_s - word.lost_s < GRACE_S
        }
        if now_s - self._started_s < GRACE_S and not self._words.keys() >= set(placed):
            return None
        ready = {name for name, word in self._words.items() if word.state == "ready"}
        return tuple(sorted(ready.intersection(placed)))
