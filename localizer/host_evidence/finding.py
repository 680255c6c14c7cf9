"""A finding: what the evidence of a host decides about an incident."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from schemas.documents.incident import Symptom

#: No rule names a type: what probes say of the issue type stays.
UNCHANGED: Final = "unchanged"


class Question(NamedTuple):
    """What a verdict leaves open.

    component  the likeliest culprit by probes; one of the tie set
    tie_set    component ids
    """

    component: str
    tie_set: tuple[str, ...]
    symptom: Symptom


@dataclass(frozen=True, slots=True)
class HostFinding:
    """What a rule decided.

    component   one of the question's tie set
    issue_type  of the catalogue; None: none of it; UNCHANGED: the rule does not know
    text        which counter or which rule of which table decided, for people
    decides     the rule tells the component from the others of the tie set
    symptom     of the question
    """

    component: str
    issue_type: str | None
    text: str
    decides: bool
    symptom: Symptom

    def replaces(self, known: HostFinding) -> bool:
        """Whether it is worth more than the one that is known: it decides more, or it is about what
        the trouble has become. Findings do not take turns."""
        if self.symptom != known.symptom:
            return True
        return self._worth > known._worth

    @property
    def _worth(self) -> int:
        return 2 * self.decides + (self.issue_type != UNCHANGED)
