"""``skeletonhunter diagnose``: files of ping records in, incidents out, without any service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from schemas.printable import printable
from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from schemas.documents.incident import Incident
    from skeletonhunter.diagnosis.coverage import Coverage
    from skeletonhunter.diagnosis.inputs import Given
    from streams.replay import Replay

_SECOND: Final = 1_000_000_000
_SHOWN: Final = 10
_NOTHING_JUDGED: Final = 2


def register(app: typer.Typer) -> None:
    """Add ``diagnose``."""

    @app.command(epilog="Example: skeletonhunter diagnose pings.csv --topology topology.json")
    def diagnose(
        files: Annotated[
            list[str],
            typer.Argument(
                help="Ping records: CSV, NDJSON, JSON, Arrow, Parquet, or what an agent's "
                "--publish file: writes, with its heartbeats; - is stdin."
            ),
        ],
        topology: Annotated[
            Path | None, typer.Option(help="The fabric; without it, it is learnt from records.")
        ] = None,
        heartbeats: Annotated[
            Path | None, typer.Option(help="Heartbeats of the agents, NDJSON.")
        ] = None,
        placement: Annotated[
            Path | None,
            typer.Option(help="Containers and their states: those not ready are not judged."),
        ] = None,
        maintenance: Annotated[
            Path | None, typer.Option(help="Components being worked on: no incidents of theirs.")
        ] = None,
        strategy: Annotated[str, typer.Option(help="Who names the culprit.")] = "hypothesis",
        output: Annotated[
            Literal["table", "json"],
            typer.Option(
                "--format",
                help="A table, or one JSON document a line; with json the last line on stderr is "
                '{"coverage": {...}}.',
            ),
        ] = "table",
        explain: Annotated[
            str | None, typer.Option(help="Explain one incident: its id, or how the id begins.")
        ] = None,
    ) -> int:
        """Name the culprits that ping records show; exit code 1 when there is one.

        What was judged is stated on stderr: records, seconds, source hosts, what detectors lack,
        and links and components of the topology that no judged probe crosses. With fewer seconds
        or source hosts than loss needs the result is "not enough to judge" (in JSON: "enough" of
        the coverage is false) instead of "no incidents". Exit code 2 when nothing could be judged.
        """
        from localizer.options import Options
        from skeletonhunter.arguments import known_strategy
        from skeletonhunter.diagnosis import inputs
        from skeletonhunter.diagnosis.report import as_json, as_table, explained, not_enough
        from streams.replay import Replay

        options = Options(strategy=known_strategy(strategy, "--strategy"))
        given = inputs.read(
            files, topology=topology, heartbeats=heartbeats, placement=placement,
            maintenance=maintenance,
        )  # fmt: skip
        offline = Replay(topology=given.topology, options=options)
        incidents = _judge(offline, given)
        coverage = _coverage(offline, given)
        if explain is not None:
            chosen = [each for each in incidents if each.incident_id.startswith(explain)]
            if len(chosen) != 1:
                known = ", ".join(each.incident_id for each in incidents) or "none"
                raise BadInput(f"--explain {explain}: names {len(chosen)} incidents; here: {known}")
            text = as_json(chosen) if output == "json" else explained(chosen[0])
        elif output == "json":
            text = as_json(incidents)
        elif not coverage.seconds:
            text = ""
        elif not incidents and not coverage.enough:
            text = not_enough(coverage.missing())
        else:
            text = as_table(incidents)
        typer.echo(text, nl=False)
        _account(offline, given, coverage, output)
        if not coverage.seconds:
            return _NOTHING_JUDGED
        return int(any(each.kind not in ("agent", "pipeline") for each in incidents))


def _judge(offline: Replay, given: Given) -> list[Incident]:
    """Merge by ping_time and judge second by second; incidents in their last version."""
    import numpy as np
    import pyarrow as pa

    offline.place(given.placements)
    offline.maintain(given.maintenance)
    newest: dict[str, Incident] = {}
    merged, beats = given.records, given.beats
    if merged is not None:
        second = merged.column("ping_time").to_numpy() // _SECOND
        order = np.argsort(second, kind="stable")
        second = second[order]
        edges = np.flatnonzero(np.diff(second, prepend=second[0] - 1))
        ends = np.append(edges[1:], len(second))
        at = 0
        for start, end in zip(edges.tolist(), ends.tolist(), strict=True):
            now = (int(second[start]) + 1) * _SECOND
            first_beat = at
            while at < len(beats) and beats[at].time < now:
                at += 1
            rows = merged.take(pa.array(order[start:end]))
            for found in offline.feed(rows, beats[first_beat:at], now).incidents:
                newest[found.incident_id] = found
        for found in offline.finish().incidents:
            newest[found.incident_id] = found
    return sorted(newest.values(), key=lambda each: (each.opened_at, each.incident_id))


def _coverage(offline: Replay, given: Given) -> Coverage:
    from skeletonhunter.diagnosis.coverage import Coverage

    tally, dead = offline.tally, len(given.dead)
    records = {
        "read": tally.records + dead, "judged": tally.judged, "late": tally.late,
        "duplicate": tally.duplicate, "dead_lettered": tally.dead_lettered + dead,
    }  # fmt: skip
    return Coverage(records, offline.judged, given.topology, offline.options)


def _account(offline: Replay, given: Given, coverage: Coverage, output: str) -> None:
    """Where every record went and what was judged, on stderr."""
    said = [f"suppressed: {s.component} for {s.seconds} s: {s.reason}" for s in offline.suppressed]
    lines = _first(said, "suppressed")
    letters = [f"dead letter: {letter}" for letter in given.dead]
    refused = [f"dead letter: {letter}" for letter in given.bad_beats]
    lines += _first(letters, "dead letter") + _first(refused, "dead letter")
    lines += _first([f"note: {note}" for note in given.notes], "note")
    count = coverage.records
    lines.append(
        f"records read {count['read']}, judged {count['judged']}, late {count['late']}, "
        f"duplicate {count['duplicate']}, dead-lettered {count['dead_lettered']}"
    )
    lines += coverage.words()
    sys.stderr.writelines(f"{printable(line)}\n" for line in lines)
    if not coverage.seconds:
        terminal.complain(_why_nothing(given, coverage))
    if output == "json":
        from json import dumps  # it escapes all but ASCII, and msgspec does not

        sys.stderr.write(dumps({"coverage": coverage.document()}) + "\n")


def _first(lines: list[str], what: str) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], *([f"{what}: and {more} more"] if more > 0 else [])]


def _why_nothing(given: Given, coverage: Coverage) -> str:
    count = coverage.records
    if not count["read"]:
        beats = f", only {len(given.beats):,} heartbeats" if given.beats else ""
        why = f"there are no ping records{beats}; give the agents' skh.pings"
    elif count["dead_lettered"] == count["read"]:
        first = f"; the first is {given.dead[0]}" if given.dead else ""
        why = f"all {count['read']:,} records are dead letters{first}"
    else:
        why = f"none of {count['read']:,} records is a probe in time; traceroutes judge nothing"
    return f"nothing could be judged: {why}"
