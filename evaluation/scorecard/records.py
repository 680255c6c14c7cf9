"""results.jsonl: a line that describes the run, then a line for each trial."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import msgspec


class RecordsError(ValueError):
    """A file of results cannot be read; one line."""


class Run(msgspec.Struct, frozen=True, tag="run", kw_only=True):
    """The first line: how a file of results was made.

    commit      with a + where the tree had changes
    sources     digest of the measured code
    seeds       "path", "pipeline", "clean" -> first and last seed that was planned
    parameters  name -> value, unit, source, as text
    left_out    trials that the time limit left out
    wall_s      None while it runs
    """

    commit: str
    sources: str
    machine: str
    started: str
    command: str
    quick: bool
    final: bool
    jobs: int
    seeds: dict[str, tuple[int, int]]
    parameters: dict[str, dict[str, str]]
    wall_s: float | None = None
    left_out: int = 0


class PathRow(msgspec.Struct, frozen=True, tag="path", kw_only=True):
    """One strategy on one draw of a published setting.

    seconds  CPU time of the call; error: why it gave no answer, which counts as F1 = 0
    """

    setting: str
    seed: int
    strategy: str
    paths: int
    components: int
    bad: int
    blamed: int
    precision: float
    recall: float
    f1: float
    seconds: float
    error: str | None = None


class FaultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One injected fault, and the incident that was found for it.

    label       its issue type, or the kind of fault where no issue type fits
    effect      what probes see of it; "none": nothing, and no share counts it
    start_s     since the beginning of the trial, as end_s (None: until the end)
    class_size  components that no probe of this trial distinguishes, the faulty one included
    found       named by an incident, itself or by its class (as ``check score`` counts)
    top1        named itself
    noticed     found, or an incident of the right time and symptom family named another component
    seconds     from the fault's start to the detection; of what was found
    named       component that the incident named; said_type: its likeliest issue type,
                said_direction: its direction
    five_sigma_s  after so long, what the probes that cross a lossy component lose beyond the
                healthy loss is five times its standard deviation [s]; of faults that lose packets
    """

    label: str
    effect: str
    component: str
    issue_type: str | None
    symptom: str
    layer: str
    direction: str
    magnitude: float
    start_s: float
    end_s: float | None
    class_size: int
    found: bool
    top1: bool
    noticed: bool
    seconds: float | None = None
    named: str | None = None
    said_type: str | None = None
    said_direction: str | None = None
    five_sigma_s: float | None = None


class FalseRow(msgspec.Struct, frozen=True, kw_only=True):
    """An incident that matches no fault; misnamed: it belongs to a fault that was noticed."""

    component: str
    symptom: str
    at_s: float
    misnamed: bool = False


class PipelineRow(msgspec.Struct, frozen=True, tag="pipeline", kw_only=True):
    """One simulated cluster through the whole pipeline.

    clean        the scenario has no faults
    every_s      time between two probes of a pair [s], of the slowest host
    burst        probes of a record
    seconds      CPU time of all of it; judging_ms: median and worst time for one second's pane
    p_values     family -> counts of -log10 p in bins of a tenth, the last one open; clean input
    error        why the trial ended early; it then has no results
    """

    scenario: str
    seed: int
    strategy: str
    clean: bool
    simulated_s: int
    records: int
    paths: int
    seconds: float
    judging_ms: tuple[float, float]
    every_s: int = 1
    burst: int = 1
    faults: list[FaultRow] = []
    false: list[FalseRow] = []
    p_values: dict[str, list[int]] = {}
    error: str | None = None


class CurvePoint(msgspec.Struct, frozen=True):
    """How well the bad links are named at a time since the first record [s]."""

    at_s: int
    precision: float
    recall: float
    f1: float


class CurveRow(msgspec.Struct, frozen=True, tag="curve", kw_only=True):
    """The whole pipeline, or one strategy on pooled panes, on one network with many bad links.

    seconds  CPU time of all calls
    """

    curve: str
    seed: int
    strategy: str
    bad: int
    points: list[CurvePoint]
    seconds: float


Row: TypeAlias = PathRow | PipelineRow | CurveRow
_decoder = msgspec.json.Decoder(Run | PathRow | PipelineRow | CurveRow)


def key(row: Row) -> tuple[str, str, int, str]:
    """The key of a row: kind, setting or scenario, seed, strategy; also its place in a file."""
    match row:
        case PathRow():
            return "path", row.setting, row.seed, row.strategy
        case CurveRow():
            return "curve", row.curve, row.seed, row.strategy
        case PipelineRow():
            return "pipeline", row.scenario, row.seed, row.strategy


def write(path: Path, run: Run, rows: Iterable[Row]) -> None:
    """Write a whole file, in an order that does not depend on which trial finished first."""
    encode = msgspec.json.encode
    lines = [encode(run), *(encode(row) for row in sorted(rows, key=key))]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def read(path: Path) -> tuple[Run, list[Row]]:
    """Read a whole file, or a journal with an incomplete last line; raises RecordsError."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as why:
        raise RecordsError(f"{path}: {why.strerror}; run `skeletonhunter check scorecard`") from why
    run: Run | None = None
    rows: list[Row] = []
    for number, line in enumerate(lines[:-1], 1):  # an incomplete line follows the last newline
        try:
            record = _decoder.decode(line)
        except msgspec.MsgspecError as why:
            raise RecordsError(f"{path}, line {number}: {why}") from why
        if isinstance(record, Run):
            run = record
        else:
            rows.append(record)
    if run is None:
        raise RecordsError(f"{path}: no line says how it was made; run the scorecard anew")
    return run, rows
