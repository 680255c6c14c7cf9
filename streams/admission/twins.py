"""Detects two agents with one name: a cloned machine, or an old process still running."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

from schemas.documents.heartbeat import Heartbeat
from streams.admission.parameters import DEFAULT

_log = logging.getLogger(__name__)

_SECOND: Final = 1_000_000_000
_PARAMETERS: Final = DEFAULT.twins

_Who = tuple[str, str, str]  # fabric, node_sn, scope


@dataclass(slots=True)
class _Name:
    """Instances that have sent heartbeats under one name, the newest last, and their returns.

    current      whose heartbeat came last; heard_s: when, by the reader's clock
    changed_at   first heartbeat of the newest instance [ns]; returned_at: the last return
    """

    instances: list[str]
    current: str
    changed_at: int
    heard_s: float
    returns: int = 0
    returned_at: int = 0
    reported: bool = False


class Twins:
    """Detects instances that take turns under one (fabric, node_sn, scope).

    A restart replaces an instance for good; only instances that run at the same time return after
    each other. Late messages of an agent that has ended do not count: they were written before its
    successor's first one. Heartbeats without an ``instance`` are ignored; twins whose clocks differ
    by more than the time they run together are not detected. A name that is not heard for
    ``kept_s`` is forgotten: hosts come and go.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """clock  any clock that does not run back [s]; twins and names expire by it"""
        self._clock = clock
        self._names: OrderedDict[_Who, _Name] = OrderedDict()
        self._twins: OrderedDict[_Who, float] = OrderedDict()

    def __len__(self) -> int:
        """Names that are remembered [count]."""
        return len(self._names)

    def observe(self, beat: Heartbeat) -> None:
        """Record one heartbeat; call it in the order of arrival."""
        if not beat.instance:
            return
        now_s = self._clock()
        self._forget_before(now_s - _PARAMETERS.kept_s)
        who = (beat.fabric, beat.node_sn, beat.scope)
        name = self._names.get(who)
        if name is None:
            self._names[who] = _Name([beat.instance], beat.instance, beat.time, now_s)
            if len(self._names) > _PARAMETERS.names:
                self._names.popitem(last=False)
            return
        self._names.move_to_end(who)
        name.heard_s = now_s
        if beat.instance not in name.instances:
            name.instances = [*name.instances, beat.instance][-_PARAMETERS.instances :]
            name.current, name.changed_at = beat.instance, beat.time
        elif beat.instance != name.current and beat.time > name.changed_at:
            self._returned(who, name, beat)

    def _forget_before(self, second: float) -> None:
        """The first name is the one that has not been heard for longest."""
        while self._names and next(iter(self._names.values())).heard_s < second:
            self._names.popitem(last=False)

    def _returned(self, who: _Who, name: _Name, beat: Heartbeat) -> None:
        if beat.time - name.returned_at > _PARAMETERS.recent_s * _SECOND:
            name.returns, name.reported = 0, False
        name.returns, name.returned_at = name.returns + 1, beat.time
        other, name.current = name.current, beat.instance
        if name.returns < _PARAMETERS.returns:
            return
        self._twins[who] = self._clock()
        self._twins.move_to_end(who)
        if len(self._twins) > _PARAMETERS.names:
            self._twins.popitem(last=False)
        if not name.reported:
            name.reported = True
            fabric, node_sn, scope = who
            _log.warning(
                "two agents send heartbeats as %s of fabric %s%s: instances %s and %s; "
                "is the machine a clone, or an old agent still running?",
                node_sn, fabric, f" ({scope})" if scope else "", other, name.current,
            )  # fmt: skip

    @property
    def count(self) -> int:
        """Names under which agents have taken turns within the last ``recent_s`` [count]."""
        oldest = self._clock() - _PARAMETERS.recent_s
        while self._twins and next(iter(self._twins.values())) < oldest:
            self._twins.popitem(last=False)
        return len(self._twins)
