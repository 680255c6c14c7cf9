"""What a run on files has found, as a page: what, where, why, what next, and the bad paths."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Final

import numpy as np

from api.runbook.steps import Entry, next_steps
from schemas.documents.incident import Anomaly, Incident
from schemas.documents.times import seconds_of
from schemas.printable import printable
from skeletonhunter.diagnosis.inputs import Inputs
from skeletonhunter.diagnosis.outcome import Outcome
from skeletonhunter.diagnosis.page.chart import chart
from skeletonhunter.diagnosis.page.places import place
from skeletonhunter.diagnosis.page.series import ProbeTable
from skeletonhunter.diagnosis.report import date_and_time, duration, sentence, share, significance
from skeletonhunter.diagnosis.run import Diagnosis
from skeletonhunter.terminal import shown

_STYLE: Final = Path(__file__).with_name("page.css")
#: Incidents with charts, the most severe first, and rows of a table of bad paths [count].
MOST_CHARTS: Final = 50
MOST_PATHS: Final = 20
MOST_NAMES: Final = 8
_NAMES: Final = {"host": "Host", "rnic": "Rnic", "tor": "ToR", "container": "Container"}


def html(inputs: Inputs, done: Diagnosis, outcome: Outcome) -> str:
    """The whole page. Every text from data is escaped; the page allows no script."""
    ordered = sorted(
        done.incidents, key=lambda each: (each.parent is not None, each.severity, each.opened_at)
    )
    bad = _by_incident(done.anomalies)
    table = None if inputs.records is None else ProbeTable(inputs.records)
    sections = [
        _section(
            each, place(each.component, inputs.records), bad.get(each.incident_id, []),
            table if at < MOST_CHARTS else None,
        )
        for at, each in enumerate(ordered)
    ]  # fmt: skip
    count = len(ordered)
    heading = f"{count} incident{'' if count == 1 else 's'}" if count else _nothing(outcome)
    contents = "".join(
        f'<li><a href="#{escape(each.incident_id)}"><b class="{each.severity}">{each.severity}</b> '
        f"{_text(each.component)} {each.symptom}</a> "
        f"{_text(date_and_time(each.opened_at))} UTC</li>"
        for each in ordered
    )
    judged = "".join(f"<li>{_text(line)}</li>" for line in outcome.summary)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(heading)} - SkeletonHunter</title>
<style>{_STYLE.read_text()}</style></head>
<body><header><h1>{escape(heading)}</h1></header>
<main>{f"<nav><ul>{contents}</ul></nav>" if contents else ""}
{"".join(sections)}
<section><h2>What was judged</h2><ul class="lines">{judged}</ul></section></main></body></html>
"""


def _nothing(outcome: Outcome) -> str:
    if outcome.nothing is not None:
        return outcome.nothing
    return "No incidents" if outcome.enough else "Not enough to judge"


def _section(
    incident: Incident, where: dict[str, list[str]], bad: list[Anomaly], table: ProbeTable | None
) -> str:
    each = shown(incident)
    facts = [
        ("Opened", f"{date_and_time(each.opened_at)} UTC, {duration(each)}"),
        ("Detected", f"{date_and_time(each.detected_at)} UTC"),
        ("Fabric", each.fabric),
        *((_NAMES[kind], _first(names)) for kind, names in where.items()),
        ("Jobs", ", ".join(each.jobs)),
        ("Tenants", ", ".join(each.tenants)),
        ("Confidence", f"{share(each.confidence)} that it is {each.component}"),
        ("Test", significance(each.p_value)),
        ("Paths", _paths_said(each)),
        ("Or", ", ".join(name for name in each.tie_set if name != each.component)),
        ("Explained by", each.parent or ""),
        ("Incident", f"{each.incident_id}, version {each.version}, by {each.strategy}"),
    ]
    rows = "".join(f"<dt>{k}</dt><dd>{escape(v)}</dd>" for k, v in facts if v)
    return (
        f'<section id="{escape(incident.incident_id)}"><h2><b class="{each.severity}">'
        f"{each.severity}</b> {escape(each.component)} <span>{each.symptom}"
        f"{f', probably {escape(each.issue_type)}' if each.issue_type else ''}</span></h2>"
        f'<p class="why">{escape(sentence(each))}{_moment(each)}</p><dl>{rows}</dl>'
        f"{_charts(incident, bad, table) if table is not None else ''}{_paths(bad)}"
        f"{_advice(next_steps(incident, where))}</section>"
    )


def _moment(each: Incident) -> str:
    """Of when a sentence is that counts paths."""
    return " <small>(as of the last verdict)</small>" if "bad_crossing" in each.evidence else ""


def _paths_said(each: Incident) -> str:
    """Those that were bad at any time; the sentence counts those of the verdict's moment."""
    return f"{each.paths_bad:,} bad over the whole incident, of {each.paths_total:,} that cross it"


def _first(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    text = ", ".join(map(printable, names[:MOST_NAMES]))
    return f"{text} and {more:,} more" if more > 0 else text


def _charts(incident: Incident, bad: list[Anomaly], table: ProbeTable) -> str:
    ids = np.array([int(each.path_id, 16) for each in bad], np.uint64)
    its = np.isin(table.path, ids)
    if not its.any():
        return ""
    mine, others = table.series(its), table.series(~its)
    opened_s = seconds_of(incident.opened_at)
    closed_s = None if incident.closed_at is None else seconds_of(incident.closed_at)
    times = mine.times_s.tolist()
    pictures = (
        ("Loss", 100 * mine.loss, 100 * others.loss, "%"),
        ("Median round trip", mine.rtt_us, others.rtt_us, "µs"),
    )
    drawn = "".join(
        chart(title, times, a.tolist(), b.tolist(), opened_s=opened_s, closed_s=closed_s, unit=unit)
        for title, a, b, unit in pictures
    )
    many = f"{_count(len(ids))} at one of its verdicts"
    return (
        f'<div class="charts">{drawn}</div><p class="key"><i class="bad"></i>{many} '
        f'<i class="others"></i>all other paths <i class="during"></i>the incident; '
        f"one point for each {table.step_s} s</p>"
    )


def _paths(bad: list[Anomaly]) -> str:
    if not bad:
        return ""
    worst = sorted(bad, key=lambda each: (-each.loss_rate, -(each.latency_excess_us or 0.0)))
    rows = "".join(
        f"<tr><td>{_text(each.src_node_sn)} {_text(each.src_ip)}:{each.src_port}</td>"
        f"<td>{_text(each.dst_node_sn)} {_text(each.dst_ip)}:{each.dst_port}</td>"
        f"<td>{each.lost:,} of {each.sent:,}</td><td>{_excess(each)}</td></tr>"
        for each in worst[:MOST_PATHS]
    )
    more = len(worst) - MOST_PATHS
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return (
        f"<details><summary>{_count(len(bad))} at one of its verdicts</summary>"
        "<div class=scroll><table><thead><tr><th>From</th><th>To</th><th>Lost</th>"
        f"<th>Slower by</th></tr></thead><tbody>{rows}</tbody></table>"
        f"</div>{rest}</details>"
    )


def _count(bad: int) -> str:
    return f"{bad:,} bad path{'' if bad == 1 else 's'}"


def _excess(each: Anomaly) -> str:
    return "" if each.latency_excess_us is None else f"{each.latency_excess_us:,.1f} µs"


def _advice(entries: Iterable[Entry]) -> str:
    found = []
    for entry in entries:
        steps = "".join(
            f"<li>{escape(step.do)}"
            + (f"<pre><code>{_text(step.run)}</code></pre>" if step.run else "")
            + "</li>"
            for step in entry.steps
        )
        found.append(f"<p><b>{escape(entry.key)}</b>: {escape(entry.means)}</p><ol>{steps}</ol>")
    return f"<h3>What next</h3>{''.join(found)}" if found else ""


def _by_incident(anomalies: Iterable[Anomaly]) -> dict[str, list[Anomaly]]:
    """Incident -> the worst anomaly of each of its paths."""
    found: dict[str, dict[str, Anomaly]] = {}
    for each in anomalies:
        if each.incident_id is not None:
            worst = found.setdefault(each.incident_id, {})
            old = worst.get(each.path_id)
            if old is None or _badness(each) > _badness(old):
                worst[each.path_id] = each
    return {name: list(worst.values()) for name, worst in found.items()}


def _badness(each: Anomaly) -> tuple[float, float]:
    return each.loss_rate, each.latency_excess_us or 0.0


def _text(value: str) -> str:
    """A name from data: printable, and escaped."""
    return escape(printable(value))
