"""Is it the network? One sentence about a job, with its basis. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from api.documents import finite
from api.site_documents import JobIncident, Verdict
from schemas.documents.times import seconds_of

#: Kinds of culprits that are no part of the network.
_NOT_NETWORK: Final = frozenset({"agent", "host", "container", "pipeline"})
#: Share of a job's probes that may be lost while it counts as innocent [1]: ten times less than
#: what a matrix shows as bad, and what no incident explains is said.
_CLEAN_LOSS: Final = 0.001
_BASIS_S: Final = 300


def verdict(
    incidents: Sequence[JobIncident], total: Mapping[str, Any], as_of: str | None
) -> Verdict:
    """The answer.

    incidents  that affect the job, the most urgent first
    total      paths, all_sent, all_lost and p50 of its probes in the last five minutes
    as_of      end of the newest window (RFC 3339)
    """
    active = [each for each in incidents if each.state != "resolved"]
    network = [each for each in active if each.kind not in _NOT_NETWORK]
    if network:
        return Verdict(answer="yes", text=f"Yes: {_named(network)}.")
    if active:
        return Verdict(answer="no", text=f"No: {_named(active)}, which is no fault of the network.")
    sent = int(total.get("all_sent", 0) or 0)
    if not sent or as_of is None:
        return Verdict(
            answer="unknown",
            text="Unknown: no probe of this job was stored in the last hour, and no incident"
            " names it.",
        )
    loss = int(total["all_lost"]) / sent
    rtt = finite(total["p50"])
    basis = (
        f"{_share(loss)} of {sent:,} probes on {int(total['paths']):,} paths lost"
        + (f", median round trip {rtt:.3g} µs" if rtt is not None else "")
        + f", in the five minutes before {as_of[11:19]} UTC"
    )
    lately = next((each for each in incidents if _lately(each, as_of)), None)
    if loss > _CLEAN_LOSS and lately is not None:
        until = (lately.closed_at or "")[11:19]
        symptom = lately.symptom.replace("_", " ")
        return Verdict(
            answer="no",
            text=f"Not now: {lately.component} had {symptom} until {until} UTC; {basis}.",
        )
    if loss > _CLEAN_LOSS:
        return Verdict(
            answer="unknown",
            text=f"Unknown: no incident names a culprit, but probes were lost: {basis}.",
        )
    past = next((each for each in incidents if each.kind not in _NOT_NETWORK), None)
    before = (
        f" It was before: {past.component} until {(past.closed_at or '')[11:19]} UTC."
        if past
        else ""
    )
    return Verdict(
        answer="no", text=f"No, the network is innocent: no active incident; {basis}.{before}"
    )


def _named(incidents: Sequence[JobIncident]) -> str:
    first, *others = incidents
    more = f" and {len(others)} more" if others else ""
    when = first.opened_at[11:19]
    return f"{first.component} has {first.symptom.replace('_', ' ')} since {when} UTC{more}"


def _lately(each: JobIncident, as_of: str) -> bool:
    """Whether it ended in the five minutes that the basis is about."""
    return each.closed_at is not None and seconds_of(each.closed_at) > seconds_of(as_of) - _BASIS_S


def _share(loss: float) -> str:
    return f"{100 * loss:.2g} %" if loss else "0 %"
