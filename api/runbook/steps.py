"""What to check and do about an incident, filled in with the names that are known. No I/O but the
table, which is read once."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from schemas.documents.incident import Incident

_TABLE: Final = Path(__file__).with_name("steps.toml")
#: Issue types that are less probable are not advised on, nor more than so many at once.
LEAST_PROBABLE: Final = 0.15
MOST_ENTRIES: Final = 3
_DEV: Final = 'DEV=$(ip -br addr | awk -v a={rnic} \'index($0, " " a "/") {{print $1; exit}}\')'


class Step(msgspec.Struct, frozen=True):
    """do: what, in words; run: a shell command for it on the host in question, or null."""

    do: str
    run: str | None = None


class Entry(msgspec.Struct, frozen=True, rename={"key": "for"}):
    """One entry of the table. key: issue type, ``kind/symptom`` or symptom; means: what is broken;
    steps: in this order.
    """

    key: str
    means: str
    steps: list[Step]


class _Table(msgspec.Struct, frozen=True):
    entry: list[Entry]


@cache
def table() -> dict[str, Entry]:
    """All entries by their keys."""
    known = msgspec.convert(tomllib.loads(_TABLE.read_text()), _Table)
    return {entry.key: entry for entry in known.entry}


def keys(incident: Incident) -> list[str]:
    """Keys of the entries about an incident, the most probable issue type first; at least one for
    every symptom that incidents have."""
    known = table()
    if incident.issue_type in known:
        return [incident.issue_type]
    usual = (f"{incident.kind}/{incident.symptom}", incident.symptom)
    general = [key for key in usual if key in known][:1]
    given = incident.evidence.get("issue_types")
    types = {} if not isinstance(given, dict) else given
    found: list[str] = []
    for name, p in sorted(types.items(), key=lambda item: -item[1]):
        if p >= LEAST_PROBABLE:  # what has no entry, as none of the types, has the general one
            found += [name] if name in known else general
    return list(dict.fromkeys(found))[:MOST_ENTRIES] or general


def next_steps(incident: Incident, place: Mapping[str, Sequence[str]]) -> list[Entry]:
    """Entries about an incident with their commands filled in.

    place  names of the hosts, rnics, tors and containers at the component, by kind; where there is
           not exactly one, a command says <host> and so on
    Names are quoted for the shell, since any sender of records may choose them.
    """
    filled = {
        "component": shlex.quote(incident.component), "fabric": shlex.quote(incident.fabric),
    }  # fmt: skip
    for kind in ("host", "rnic", "tor", "container"):
        found = place.get(kind, ())
        filled[kind] = shlex.quote(found[0]) if len(found) == 1 else f"<{kind}>"
    filled["dev"] = _DEV.format(**filled)
    return [
        msgspec.structs.replace(entry, steps=[_filled(step, filled) for step in entry.steps])
        for entry in (table()[key] for key in keys(incident))
    ]


def _filled(step: Step, values: Mapping[str, str]) -> Step:
    if step.run is None:
        return step
    run = step.run
    for name, value in values.items():
        run = run.replace(f"{{{name}}}", value)
    return msgspec.structs.replace(step, run=run)
