"""The pipeline incident of a fabric: SkeletonHunter cannot judge it. No I/O.

It says nothing about the network. It opens with the first error, is updated while there are more,
and is resolved when judging has worked for ``clear_s``; an error within ``reopen_s`` reopens it.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Final

from schemas.component_ids import component
from schemas.documents.incident import Incident, State
from schemas.documents.times import rfc3339, seconds_of
from schemas.parameters.parameter import parameter

_CHOSEN: Final = "chosen: pytest tests/streams/localize"


@dataclass(frozen=True, slots=True)
class FailureParameters:
    """How errors in judging a fabric are published, and how judging is tried again.

    clear_s      without an error, while messages come, until a pipeline incident is resolved
    reopen_s     an error within so long after the last one reopens it
    update_s     between two documents of an open incident, at least
    error_chars  of an error that a document holds
    wait_s       longest pause between two attempts; pauses double
    cold         attempt from which on the localizer begins after the message that failed, with an
                 empty history
    """

    clear_s: int = parameter(10, unit="s", source=_CHOSEN)
    reopen_s: int = parameter(60, unit="s", source=_CHOSEN)
    update_s: int = parameter(10, unit="s", source=_CHOSEN)
    error_chars: int = parameter(500, unit="characters", source="chosen: what fits a document")
    wait_s: float = parameter(60.0, unit="s", source=_CHOSEN)
    cold: int = parameter(
        4, unit="attempts",
        source="chosen: a run of bad messages costs its own seconds, not those after it",
    )  # fmt: skip


FAILURES: Final = FailureParameters()


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in judging.

    stage  what was being done; error: its type and text, in one line
    where  the message or document that was being judged; log: which process logged the traceback
    """

    stage: str
    error: str
    where: str
    log: str

    @classmethod
    def of(cls, stage: str, why: BaseException, where: str, log: str) -> Failure:
        """The failure of an exception, in one line."""
        text = " ".join(f"{type(why).__name__}: {why}".split())
        return cls(stage, text[: FAILURES.error_chars], where, log)

    @property
    def text(self) -> str:
        """The failure in one line."""
        return f"{self.stage} failed: {self.error} ({self.where})"


class PipelineIncident:
    """Opens and resolves one incident of one fabric at a time; times are the broker's [s]."""

    def __init__(self, fabric: str) -> None:
        self._fabric = fabric
        self._id = ""
        self._version = 0
        self._state: State = "resolved"
        self._opened_s = self._written_s = self._failed_s = 0
        self._errors = 0
        self._evidence: dict[str, object] = {}

    @property
    def open(self) -> bool:
        """The last error is too recent to say that judging works again."""
        return self._state != "resolved"

    @property
    def text(self) -> str:
        """The newest error, in one line."""
        return str(self._evidence.get("text", ""))

    def restore(self, doc: Incident) -> None:
        """Take over a former process's document; raises ValueError when its times are not valid."""
        opened_s, updated_s = int(seconds_of(doc.opened_at)), int(seconds_of(doc.updated_at))
        if updated_s >= self._written_s:
            self._id, self._version, self._state = doc.incident_id, doc.version, doc.state
            self._opened_s, self._written_s, self._failed_s = opened_s, updated_s, updated_s
            self._evidence = doc.evidence

    def failed(self, time_s: int, failure: Failure) -> Incident | None:
        """Record an error; returns the document to publish, if one is due."""
        if not self.open and not (self._id and time_s - self._failed_s <= FAILURES.reopen_s):
            self._opened_s, self._version, self._errors = time_s, 0, 0
            name = "\n".join((self._fabric, "pipeline", str(time_s)))
            self._id = base64.b32encode(hashlib.sha256(name.encode()).digest())[:16].decode()
            self._id = self._id.lower()
        new = not self.open
        self._errors += 1
        self._failed_s = max(time_s, self._failed_s)
        self._evidence = {
            "text": failure.text, "stage": failure.stage, "error": failure.error,
            "message": failure.where, "logged_at": failure.log, "errors": self._errors,
        }  # fmt: skip
        self._state = "ongoing" if self._version else "open"
        if not new and time_s - self._written_s < FAILURES.update_s:
            return None
        return self._document(time_s)

    def succeeded(self, time_s: int) -> Incident | None:
        """Record that judging worked; returns the document to publish, if it is resolved now."""
        if not self.open or time_s - self._failed_s < FAILURES.clear_s:
            return None
        self._state = "resolved"
        return self._document(time_s)

    def _document(self, time_s: int) -> Incident:
        self._version += 1
        self._written_s = time_s
        name, opened = component("pipeline", self._fabric), rfc3339(self._opened_s * 10**9)
        return Incident(
            incident_id=self._id, version=self._version, state=self._state, fabric=self._fabric,
            component=name, kind="pipeline", layer="pipeline", symptom="judging_failed",
            issue_type=None, direction="both", opened_at=opened, detected_at=opened,
            updated_at=rfc3339(time_s * 10**9),
            closed_at=rfc3339(time_s * 10**9) if self._state == "resolved" else None,
            severity="P2", confidence=1.0, p_value=0.0, tie_set=[name], parent=None,
            paths_bad=0, paths_total=0, evidence=self._evidence,
        )  # fmt: skip
