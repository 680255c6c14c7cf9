"""skh.evidence -> the localizers: counters and flow tables of hosts, about incidents.

Incidents never wait for it: it is read beside the stream, and a broker without the topic, or out of
reach, is a line in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Final

from localizer.host_evidence.printed.flow_dumps import NoDump, parse
from schemas.documents.requests.evidence import Answer, Evidence
from schemas.documents.requests.request import Request
from schemas.documents.times import seconds_of
from streams.errors import BrokerUnreachable
from streams.readers.parameters import HOST_EVIDENCE
from streams.readers.request_feed import RequestFeed

_log = logging.getLogger(__name__)
_KINDS: Final = ("counters", "flow_table")


class HostEvidence:
    """Documents that localizers use, as they come; for one event loop."""

    def __init__(self, feed: RequestFeed) -> None:
        self._feed = feed
        self._known: deque[Evidence] = deque(maxlen=HOST_EVIDENCE.known)
        self._new: list[Evidence] = []
        self._beginning: asyncio.Task[list[Request | Answer]] | None = None
        self._begun = False
        self._usable = UsableEvidence()

    @property
    def unreadable(self) -> int:
        """Flow tables that are no dump, counters of no time; only rises [count]."""
        return self._usable.unreadable

    @property
    def known(self) -> list[Evidence]:
        """The newest documents, in order of arrival."""
        return list(self._known)

    def __len__(self) -> int:
        """Documents that are remembered [count]."""
        return len(self._known)

    async def poll(self) -> None:
        """Take in what has arrived; does not wait for more."""
        if self._begun:
            self._take(await self._feed.read())
            return
        if self._beginning is None:
            self._beginning = asyncio.create_task(self._feed.begin())
        if not self._beginning.done():
            return
        task, self._beginning = self._beginning, None
        try:
            found = task.result()
        except BrokerUnreachable as why:
            _log.warning("evidence of hosts is not read: %s", why)
            return
        self._begun = True
        for name in self._feed.missing:
            _log.warning("%s does not exist; `skeletonhunter topics --create` makes it", name)
        self._take(found)

    def new_documents(self) -> list[Evidence]:
        """Documents that ``poll`` has met since the last call."""
        found, self._new = self._new, []
        return found

    async def close(self) -> None:
        """Stop reading."""
        await asyncio.to_thread(self._feed.close)
        if self._beginning is not None:
            self._beginning.cancel()

    def _take(self, found: Sequence[Request | Answer]) -> None:
        for each in self._usable.of(found):
            self._known.append(each)
            self._new.append(each)


class UsableEvidence:
    """Which answers localizers use: those of hosts about themselves, for an incident.

    unreadable  flow tables that are no dump, counters of no time; only rises [count]
    """

    def __init__(self) -> None:
        self.unreadable = 0

    def of(self, found: Sequence[Request | Answer]) -> list[Evidence]:
        """Documents among them that localizers can read, in the same order."""
        # A container's own agent sees its container, and not the ports of the host.
        own = (each.evidence for each in found if isinstance(each, Answer) and not each.client)
        asked = (each for each in own if each.incident_id and each.kind in _KINDS)
        return [each for each in asked if self._is_readable(each)]

    def _is_readable(self, document: Evidence) -> bool:
        """Whether localizers can read all of it; its end matters, though its table be no dump."""
        host = document.node_sn[:100]
        try:
            for each in document.counters:
                seconds_of(each.time)
            if document.flow_table:
                parse(document.flow_table)
        except NoDump as why:
            self.unreadable += 1
            _log.warning("flow table of host %s: %s", host, why)
        except ValueError as why:
            self.unreadable += 1
            _log.warning("counters of host %s: %s", host, str(why)[:300])
            return False
        return True
