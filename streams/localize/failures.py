"""The pipeline incident of a fabric: that SkeletonHunter cannot judge it. No I/O.

It is no verdict on the network. It opens with the first error, is written again while there are
more, and is resolved when judging has worked for a while; soon after that it is the same incident.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Final

from schemas.component_ids import component
from schemas.documents.incident import Incident, State
from schemas.documents.times import rfc3339, seconds_of

CLEAR_S: Final = 10  # without an error, while messages come, until it is over
REOPEN_S: Final = 60
UPDATE_S: Final = 10  # the document of an open one is written again at most this often
_LINE: Final = 500  # characters of an error that a document holds


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in judging.

    stage  what was being done; error: its type and text, in one line
    where  the message, or the kind of document, that was being judged; log: who has the traceback
    """

    stage: str
    error: str
    where: str
    log: str

    @classmethod
    def of(cls, stage: str, why: BaseException, where: str, log: str) -> Failure:
        """The one line of an exception."""
        text = " ".join(f"{type(why).__name__}: {why}".split())
        return cls(stage, text[:_LINE], where, log)

    @property
    def text(self) -> str:
        return f"{self.stage} failed: {self.error} ({self.where})"


class PipelineIncident:
    """Opens and resolves one incident of one fabric at a time; times are the broker's [s]."""

    def __init__(self, fabric: str) -> None:
        self._fabric = fabric
        self._id = ""
        self._version = 0
        self._state: State = "resolved"
        self._opened_s = self._written_s = self._last_s = 0
        self._last: Failure | None = None
        self._errors = 0
        self._evidence: dict[str, object] = {}

    @property
    def open(self) -> bool:
        """The fabric is not known to be judged again."""
        return self._state != "resolved"

    @property
    def text(self) -> str:
        """The newest error, in one line."""
        return str(self._evidence.get("text", ""))

    def restore(self, doc: Incident) -> None:
        """Take over what a former process wrote; raises ValueError when its times are none."""
        opened_s, updated_s = int(seconds_of(doc.opened_at)), int(seconds_of(doc.updated_at))
        if updated_s >= self._written_s:
            self._id, self._version, self._state = doc.incident_id, doc.version, doc.state
            self._opened_s, self._written_s, self._last_s = opened_s, updated_s, updated_s
            self._evidence = doc.evidence

    def failed(self, at_s: int, failure: Failure) -> Incident | None:
        """An error; the document to publish, if one is due."""
        if not self.open and not (self._id and at_s - self._last_s <= REOPEN_S):
            self._opened_s, self._version, self._errors = at_s, 0, 0
            name = "\n".join((self._fabric, "pipeline", str(at_s)))
            self._id = base64.b32encode(hashlib.sha256(name.encode()).digest())[:16].decode()
            self._id = self._id.lower()
        new = not self.open
        self._errors += 1
        self._last_s = max(at_s, self._last_s)
        self._evidence = {
            "text": failure.text, "stage": failure.stage, "error": failure.error,
            "message": failure.where, "logged_at": failure.log, "errors": self._errors,
        }  # fmt: skip
        self._state = "ongoing" if self._version else "open"
        if not new and at_s - self._written_s < UPDATE_S:
            return None
        return self._document(at_s)

    def works(self, at_s: int) -> Incident | None:
        """Something was judged without an error; the document to publish, if it is over now."""
        if not self.open or at_s - self._last_s < CLEAR_S:
            return None
        self._state = "resolved"
        return self._document(at_s)

    def _document(self, at_s: int) -> Incident:
        self._version += 1
        self._written_s = at_s
        who, opened = component("pipeline", self._fabric), rfc3339(self._opened_s * 10**9)
        return Incident(
            incident_id=self._id, version=self._version, state=self._state, fabric=self._fabric,
            component=who, kind="pipeline", layer="pipeline", symptom="judging_failed",
            issue_type=None, direction="both", opened_at=opened, detected_at=opened,
            updated_at=rfc3339(at_s * 10**9),
            closed_at=rfc3339(at_s * 10**9) if self._state == "resolved" else None,
            severity="P2", confidence=1.0, p_value=0.0, tie_set=[who], parent=None,
            paths_bad=0, paths_total=0, evidence=self._evidence,
        )  # fmt: skip
