"""What ``diagnose`` prints on stderr: suppressed verdicts, dead letters, notes, coverage."""

from __future__ import annotations

import json
from typing import Any, Final

from skeletonhunter.diagnosis.inputs import Inputs
from skeletonhunter.diagnosis.run import Diagnosis

_SHOWN: Final = 10


def summary(inputs: Inputs, done: Diagnosis) -> list[str]:
    """Lines for people; of each kind at most ten, and then how many more there are."""
    suppressed = [
        f"suppressed: {s.component} for {s.seconds} s: {s.reason}" for s in done.suppressed
    ]
    records = [f"dead letter: {letter}" for letter in inputs.dead_letters]
    heartbeats = [f"dead letter: {letter}" for letter in inputs.invalid_heartbeats]
    notes = [f"note: {note}" for note in inputs.notes]
    count = done.coverage.records
    return [
        *_first(suppressed, "suppressed"),
        *_first(records, "dead letter"),
        *_first(heartbeats, "dead letter"),
        *_first(notes, "note"),
        f"records read {count['read']}, judged {count['judged']}, late {count['late']}, "
        f"duplicate {count['duplicate']}, dead-lettered {count['dead_lettered']}",
        *done.coverage.lines(),
    ]


def coverage_json(document: dict[str, Any]) -> str:
    """The coverage as one line of JSON, in ASCII: its texts hold names from data."""
    return json.dumps({"coverage": document})


def why_nothing(inputs: Inputs, done: Diagnosis) -> str:
    """Why no second could be judged."""
    count = done.coverage.records
    if inputs.left_out and inputs.records is None:
        why = f"all {inputs.left_out:,} valid records are outside of --since and --until"
    elif not count["read"]:
        beats = len(inputs.heartbeats)
        only = f", only {beats:,} heartbeat{'' if beats == 1 else 's'}" if beats else ""
        why = f"there are no ping records{only}; give the records of skh.pings"
    elif count["dead_lettered"] == count["read"]:
        first = f"; the first is {inputs.dead_letters[0]}" if inputs.dead_letters else ""
        why = f"all {count['read']:,} records are dead letters{first}"
    else:
        why = (
            f"none of {count['read']:,} records is a probe that came in time; "
            "traceroutes alone are not judged"
        )
    return f"nothing could be judged: {why}"


def _first(lines: list[str], kind: str) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], *([f"{kind}: and {more} more"] if more > 0 else [])]
