"""Incidents as text: one line of JSON, a table, or everything that is known about one."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final

from rich.console import Console
from rich.text import Text

from schemas.documents.incident import SMALLEST_P, Incident, encode
from skeletonhunter.terminal import shown

COLORS: Final = {"P0": "bold red", "P1": "yellow", "P2": "cyan"}


def as_json(incidents: list[Incident]) -> str:
    """One document a line."""
    return "".join(encode(each).decode() + "\n" for each in incidents)


def as_table(incidents: list[Incident]) -> str:
    """Two lines an incident for a terminal; a sentence when there is nothing to show."""
    if not incidents:
        return "no incidents\n"
    console = Console(markup=False, emoji=False)  # a name such as [red] or :rat: is a name
    with console.capture() as captured:
        for each in map(shown, incidents):
            head = Text.assemble(
                (each.severity, COLORS[each.severity]), "  ", (each.component, "bold"),
                f"  {each.symptom}  {date_and_time(each.opened_at)} UTC, {duration(each)}",
                "" if each.parent is None else f"  (child of {each.parent})",
            )  # fmt: skip
            console.print(head, soft_wrap=True)
            console.print(f"    {sentence(each)}", style="dim", soft_wrap=True, highlight=False)
            if len(each.tie_set) > 1:
                others = ", ".join(each.tie_set[1:])
                console.print(f"    or {others}", style="dim", soft_wrap=True, highlight=False)
            console.print(f"    --explain {each.incident_id}", style="dim", highlight=False)
    return captured.get()


def not_enough(missing: list[str]) -> str:
    """The text instead of "no incidents" where no detector could have found one.

    missing  what each detector lacks
    """
    return f"not enough to judge: {'; '.join(missing)}\n"


def explained(each: Incident) -> str:
    """Everything that is known about one incident, as text."""
    each = shown(each)
    facts = each.evidence
    lines = [
        f"{each.component}  {each.symptom}  {each.severity}  ({each.state})",
        f"  incident   {each.incident_id}, version {each.version}, fabric {each.fabric}",
        f"  opened     {each.opened_at}, detected {each.detected_at}"
        + (f", closed {each.closed_at}" if each.closed_at else ""),
        f"  evidence   {sentence(each)}",
        f"  strength   {significance(each.p_value)}, by strategy {each.strategy}",
        f"  confidence {share(each.confidence)} that it is {each.component}",
        f"  paths      {each.paths_bad:,} bad of {each.paths_total:,} that cross it, "
        f"seen from {facts.get('source_hosts', 0)} hosts",
    ]
    if len(each.tie_set) > 1:
        lines.append(f"  same class {_tied(each)}: probes cannot tell these apart")
    if others := _shares(facts.get("alternatives")):
        lines.append(f"  or else    {others}")
    if types := _shares(facts.get("issue_types")):
        lines.append(f"  {'likely' if each.issue_type else 'undecided':<10} {types}")
    elif each.issue_type:
        lines.append(f"  likely     {each.issue_type}")
    if each.parent:
        lines.append(f"  parent     {each.parent}: explained by that incident")
    if each.jobs or each.tenants:
        lines.append(f"  hits       jobs {_list(each.jobs)}; tenants {_list(each.tenants)}")
    layers = facts.get("layers")
    if isinstance(layers, dict):
        for name, counts in layers.items():
            lines.append(f"  {name:<10} {counts['lost']:,} of {counts['sent']:,} probes lost")
    examples = facts.get("examples")
    if isinstance(examples, list):
        lines += [f"  e.g.       {example}" for example in examples]
    return "\n".join(lines) + "\n"


def sentence(each: Incident) -> str:
    """The evidence in one sentence."""
    return str(each.evidence.get("text", ""))


def significance(p_value: float) -> str:
    """A p-value for people: never 0, and none where a rule decided."""
    if p_value >= 1.0:
        return "decided by rule, not by a statistical test"
    if p_value <= SMALLEST_P:
        return f"p < {SMALLEST_P:g} after correction"
    return f"p = {p_value:.2g} after correction"


def share(probability: float) -> str:
    """A probability in percent, rounded down: less than 1 is never shown as 100 %."""
    return f"{math.floor(1000 * probability + 1e-9) / 10:g} %"


def _tied(each: Incident) -> str:
    """The other members of the tie set, with their probabilities where they are known."""
    known = each.evidence.get("tie_set_probability")
    shares = known if isinstance(known, dict) else {}
    others = [name for name in each.tie_set if name != each.component]
    return ", ".join(f"{n} {share(shares[n])}" if n in shares else n for n in others)


def _shares(known: object) -> str:
    """Names with their probabilities, most probable first."""
    if not isinstance(known, dict):
        return ""
    ranked = sorted(known.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {share(p)}" for name, p in ranked)


def date_and_time(time: str) -> str:
    """Date and time of day of an RFC 3339 time, to the second."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M:%S")


def duration(each: Incident) -> str:
    """How long the incident lasted, or that it is open."""
    if each.closed_at is None:
        return "open"
    spent = datetime.fromisoformat(each.closed_at) - datetime.fromisoformat(each.opened_at)
    return f"{spent.total_seconds():.0f} s"


def _list(names: list[str]) -> str:
    return ", ".join(names) or "unknown"
