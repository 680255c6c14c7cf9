"""``skeletonhunter diagnose``: files of ping records in, incidents out, without any service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

    from schemas.heartbeat import Heartbeat
    from schemas.incident import Incident
    from skeletonhunter.files import DeadLetter
    from skeletonhunter.offline import Offline

_SECOND: Final = 1_000_000_000
_LETTERS_SHOWN: Final = 10


def register(app: typer.Typer) -> None:
    """Add ``diagnose``."""

    @app.command(epilog="Example: skeletonhunter diagnose pings.csv --topology topology.json")
    def diagnose(
        files: Annotated[
            list[str],
            typer.Argument(help="Ping records: CSV, NDJSON, JSON, Arrow, Parquet; - is stdin."),
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
            typer.Option("--format", help="A table, or one JSON document a line."),
        ] = "table",
        explain: Annotated[
            str | None, typer.Option(help="Explain one incident: its id, or how the id begins.")
        ] = None,
    ) -> int:
        """Name the culprits that ping records show; exit code 1 when there is one."""
        from skeletonhunter.notices import read_maintenance, read_placements
        from skeletonhunter.report import as_json, as_table, explained
        from skeletonhunter.up import read_topology

        offline = _offline(read_topology(topology), strategy)
        offline.place(read_placements(placement))
        offline.maintain(read_maintenance(maintenance))
        batches, dead = _read_all(files)
        beats, bad_beats = _read_heartbeats(heartbeats)
        incidents = _judge(offline, batches, beats)
        if explain is not None:
            chosen = [each for each in incidents if each.incident_id.startswith(explain)]
            if len(chosen) != 1:
                known = ", ".join(each.incident_id for each in incidents) or "none"
                raise BadInput(f"--explain {explain}: names {len(chosen)} incidents; here: {known}")
            text = as_json(chosen) if output == "json" else explained(chosen[0])
        else:
            text = as_json(incidents) if output == "json" else as_table(incidents)
        typer.echo(text, nl=False)
        _account(offline, dead, bad_beats)
        return int(any(each.kind not in ("agent", "pipeline") for each in incidents))


def _offline(topology: object, strategy: str) -> Offline:
    from localizer import strategies
    from localizer.errors import UnknownStrategy
    from localizer.state import Options
    from schemas.topology import Topology
    from skeletonhunter.offline import Offline

    try:
        strategies.get(strategy)
    except UnknownStrategy as why:
        raise BadInput(f"--strategy: {why}") from why
    fabric = topology if isinstance(topology, Topology) else None
    return Offline(topology=fabric, options=Options(strategy=strategy))


def _read_all(files: list[str]) -> tuple[list[pa.RecordBatch], list[DeadLetter]]:
    """Judgeable columns of all records, and what was not a record."""
    from skeletonhunter.files import read
    from streams.records import USED

    batches, dead = [], []
    for name in files:
        for block in read(name):
            dead += block.dead
            if block.batch.num_rows:
                wanted = [n for n in block.batch.schema.names if n in USED]
                batches.append(block.batch.select(wanted))
    return batches, dead


def _read_heartbeats(path: Path | None) -> tuple[list[Heartbeat], list[str]]:
    import msgspec

    from schemas import heartbeat

    if path is None:
        return [], []
    beats, bad = [], []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as why:
        raise BadInput(f"{path}: {why.strerror}; give a readable NDJSON file") from why
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                beats.append(heartbeat.decode(line))
            except (msgspec.MsgspecError, UnicodeDecodeError) as why:
                bad.append(f"{path}:{number}: {why}")
    return sorted(beats, key=lambda beat: beat.time), bad


def _judge(
    offline: Offline, batches: list[pa.RecordBatch], beats: list[Heartbeat]
) -> list[Incident]:
    """Merge by ping_time and judge second by second; incidents in their last version."""
    import numpy as np
    import pyarrow as pa

    from schemas import codecs

    newest: dict[str, Incident] = {}
    if batches:
        merged = codecs.concat(batches)
        batches.clear()
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


def _account(offline: Offline, dead: list[DeadLetter], bad_beats: list[str]) -> None:
    """Where every record went, on stderr."""
    for each in offline.suppressed[:_LETTERS_SHOWN]:
        sys.stderr.write(f"suppressed: {each.component} for {each.seconds} s: {each.reason}\n")
    if (more := len(offline.suppressed) - _LETTERS_SHOWN) > 0:
        sys.stderr.write(f"suppressed: and {more} more\n")
    tally = offline.tally
    letters = [str(letter) for letter in dead]
    for said in [*letters[:_LETTERS_SHOWN], *bad_beats[:_LETTERS_SHOWN]]:
        sys.stderr.write(f"dead letter: {said}\n")
    hidden = max(0, len(letters) - _LETTERS_SHOWN) + max(0, len(bad_beats) - _LETTERS_SHOWN)
    if hidden:
        sys.stderr.write(f"dead letter: and {hidden} more\n")
    sys.stderr.write(
        f"records read {tally.records + len(dead)}, judged {tally.judged}, late {tally.late}, "
        f"duplicate {tally.duplicate}, dead-lettered {tally.dead_lettered + len(dead)}\n"
    )
