"""What the fabrics of one worker share: how they publish, make localizers and count."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from localizer.localizer import Localizer
from localizer.suppression.log import Cause
from schemas.documents.incident import Incident
from schemas.documents.requests.evidence import Evidence
from streams.kafka.producer import MessageProducer
from streams.readers.operator_feed import OperatorDocument
from streams.readers.windows_reader import OpenReader

#: Makes the localizer of a fabric, without incidents and without a history.
MakeLocalizer = Callable[[str], Localizer]
#: Reads the newest version of every document of skh.incidents.
ReadIncidents = Callable[[], Awaitable[list[Incident]]]
#: What operators and hosts say, beside the stream.
SiteDocument: TypeAlias = OperatorDocument | Evidence
Sleep = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class LocalizeCounts:
    """What the localizing stage has done since it started; every count only rises.

    messages       of skh.windows; dead_lettered: those of them that could not be read or judged
    incidents      documents published; anomalies: likewise
    repeated       chunks that were there already, or came after their second was judged
    later          chunks with columns of a later release, which are ignored
    suppressed     reports suppressed, once a second and component, by cause
    failures       errors in judging, by fabric
    """

    messages: int = 0
    dead_lettered: int = 0
    incidents: int = 0
    anomalies: int = 0
    repeated: int = 0
    later: int = 0
    suppressed: Counter[Cause] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Services:
    """Dependencies of a fabric.

    documents    of operators and hosts that are known so far
    open_reader  reads skh.windows again; None where that is not possible
    """

    producer: MessageProducer
    make_localizer: MakeLocalizer
    read_incidents: ReadIncidents
    documents: Callable[[], list[SiteDocument]]
    open_reader: OpenReader | None = None
    sleep: Sleep = asyncio.sleep
    counts: LocalizeCounts = field(default_factory=LocalizeCounts)
