"""What to check and do about an incident, filled in with the names that are known. No I/O but the
table, which is read once."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from schemas.component_ids import TIER_KIND, UNSEEN, component, kind_of, link_ends, name_of
from schemas.documents.incident import Incident

_TABLE: Final = Path(__file__).with_name("steps.toml")
#: Issue types that are less probable are not advised on, nor more than so many at once.
LEAST_PROBABLE: Final = 0.15
MOST_ENTRIES: Final = 3
#: What a command is made of, besides names.
PARTS: Final = {
    "dev": 'DEV=$(ip -br addr | awk -v a={rnic} \'index($0, " " a "/") {print $1; exit}\')',
    "pci": 'PCI=$(basename "$(readlink -f "/sys/class/net/$DEV/device")")',
    "port": "PORT=$(lldpctl -f keyvalue | awk -F= -v a={end_a} -v b={end_b}"
    " '$1 ~ /chassis[.]name$/ && ($2 == a || $2 == b)"
    ' {split($1, part, "."); print part[2]; exit}\')',
    "drain": "scontrol update nodename={host} state=drain reason=skeletonhunter  # Slurm\n"
    "kubectl drain {host} --ignore-daemonsets --delete-emptydir-data  # Kubernetes",
}
_SWITCHES: Final = frozenset(TIER_KIND.values())
_UNSEEN: Final = component("spine", UNSEEN)
_NAMED: Final = re.compile(r"\{(\w+)\}")
#: Other names of a kind that are listed beside the one that a command is for.
_MOST_OTHERS: Final = 4


class Step(msgspec.Struct, frozen=True):
    """do: what, in words; run: a shell command for it on the host in question, or null."""

    do: str
    run: str | None = None


class Entry(msgspec.Struct, frozen=True, rename={"key": "for"}):
    """What is done about an incident. key: issue type, ``kind/symptom`` or symptom; means: what is
    broken; steps: in this order.
    """

    key: str
    means: str
    steps: list[Step]


class TableStep(Step, frozen=True):
    """A step of the table. at: kinds of components, or of where they are, that it is for; empty:
    all."""

    at: list[str] = []


class TableEntry(msgspec.Struct, frozen=True, rename={"key": "for"}):
    """One entry of the table, as ``Entry``."""

    key: str
    means: str
    steps: list[TableStep]


class _Table(msgspec.Struct, frozen=True):
    entry: list[TableEntry]


@cache
def table() -> dict[str, TableEntry]:
    """All entries by their keys."""
    known = msgspec.convert(tomllib.loads(_TABLE.read_text()), _Table)
    return {entry.key: entry for entry in known.entry}


def keys(incident: Incident) -> list[str]:
    """Keys of the entries about an incident, the most probable issue type first; at least one for
    every symptom that incidents have."""
    known = table()
    if incident.component == _UNSEEN:
        return ["unseen_switch"]
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
    """Entries about an incident, the steps that are for its component, with their commands.

    place  names of the hosts, rnics and so on at the component, by kind
    Of several names a command has the first, and the text says which the others are; where none is
    known there is no command, and the text says what is not known. Names are quoted for the shell,
    since any sender of records may choose them.
    """
    names: dict[str, Sequence[str]] = {
        "component": [incident.component], "fabric": [incident.fabric],
        **{kind: place.get(kind, ()) for kind in ("host", "rnic")},
    }  # fmt: skip
    where = _where(incident.component)
    if where == "fabric_link":
        for name, end in zip(("end_a", "end_b"), link_ends(incident.component), strict=True):
            names[name] = [name_of(end)]
    here = {where, kind_of(incident.component)}
    return [
        Entry(
            entry.key, entry.means,
            [_filled(step, names) for step in entry.steps if not step.at or here & {*step.at}],
        )
        for entry in (table()[key] for key in keys(incident))
    ]  # fmt: skip


def _where(component: str) -> str:
    """fabric_link, switch or host, as in the field ``at`` of the table."""
    kind = kind_of(component)
    if kind == "link":
        ends = {kind_of(end) for end in link_ends(component)}
        return "fabric_link" if ends <= _SWITCHES else "host"
    return "switch" if kind in _SWITCHES else "host"


def _filled(step: TableStep, names: Mapping[str, Sequence[str]]) -> Step:
    if step.run is None:
        return Step(step.do)
    run = _NAMED.sub(lambda found: PARTS.get(found[1], found[0]), step.run)
    needed = [name for name in dict.fromkeys(_NAMED.findall(run)) if name in names]
    said = step.do
    for name in needed:
        if not names[name]:
            unknown = "end" if name.startswith("end") else name
            return Step(f"{said} Neither records nor the topology tell the {unknown}: no command.")
        said += _others(name, names[name])
    # In one pass: a name may look like the place of another one.
    return Step(
        said,
        _NAMED.sub(
            lambda found: shlex.quote(names[found[1]][0]) if found[1] in names else found[0], run
        ),
    )


def _others(kind: str, names: Sequence[str]) -> str:
    """Which names a command is not for, in a sentence; empty where there is one name only."""
    first, *others = names
    if not others:
        return ""
    listed = ", ".join(others[:_MOST_OTHERS]) + (" …" if len(others) > _MOST_OTHERS else "")
    return f" Shown for {first}; the same for each other {kind} of the place: {listed}."
