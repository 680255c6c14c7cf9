"""Which channels an incident goes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from schemas.documents.incident import Incident


@dataclass(frozen=True, slots=True)
class Route:
    """Incidents that meet all conditions go to the channels ``to``; an empty condition is met.

    fabric, job, tenant   patterns as of a shell (llm-*)
    job, tenant           one of the incident's must match
    min_confidence        probability that the component is the culprit
    """

    to: tuple[str, ...]
    severity: tuple[str, ...] = ()
    fabric: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    job: tuple[str, ...] = ()
    tenant: tuple[str, ...] = ()
    min_confidence: float = 0.0

    def matches(self, incident: Incident) -> bool:
        """Whether the incident meets all conditions."""
        return (
            (not self.severity or incident.severity in self.severity)
            and (not self.kind or incident.kind in self.kind)
            and _match(self.fabric, [incident.fabric])
            and _match(self.job, incident.jobs)
            and _match(self.tenant, incident.tenants)
            and incident.confidence >= self.min_confidence
        )


def channels_of(routes: Iterable[Route], incident: Incident) -> frozenset[str]:
    """The channels of all routes that the incident takes."""
    return frozenset(name for route in routes if route.matches(incident) for name in route.to)


def _match(patterns: Sequence[str], names: Iterable[str]) -> bool:
    if not patterns:
        return True
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
