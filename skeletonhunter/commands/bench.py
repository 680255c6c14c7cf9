"""``skeletonhunter bench``: throughput and memory of each stage on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from skeletonhunter import terminal

#: Name -> description; each runs in a process of its own, so that its peak memory is its own.
MEASURES: Final = {
    "decode-arrow-512": "decode and check, Arrow, 512 records a message",
    "decode-arrow-64": "decode and check, Arrow, 64 records a message",
    "decode-ndjson": "decode and check, NDJSON, 512 records a message",
    "panes": "panes, 30 s windows with features, chunks (decoded input)",
    "detect": "localizer: detection and incidents, 10,000 paths, 5 faults",
    "detect-26-links": "localizer: 26 bad links of 4,096 paths at once, 30 % of routes unknown",
    "end-to-end-arrow-512": "broker to incidents, Arrow, 512 records a message",
    "end-to-end-arrow-64": "broker to incidents, Arrow, 64 records a message",
    "end-to-end-ndjson": "broker to incidents, NDJSON, 512 records a message",
    "agent": "agent cost: 8 rnics, 512 targets, 128 probes/s, 128 answers/s, traceroutes",
    "flat-out": "flat out: the agent's UDP engine, prober's CPU only",
    "controller": "controller: 2,000 container creations a minute, 2,048 hosts x 8 rnics",
    "connections": "controller: the same as a service, 2,048 agents connected",
    "api": "API: 200 requests/s on one core, 10 M windows stored",
    "probes-in-a-round": "ping lists: probes in a round by plan",
    "scale-100k": "localizer: a second of 100,000 paths x 20,000 components, one core",
    "store-pings": "store: ping records inserted, and stored",
    "store-throughput": "store: throughput of rnics inserted, and stored",
    "store-windows": "store: windows inserted, with what is added up from them",
    "store-queries": "store: a job's windows of an hour, the heat map of a day",
    "simulate-parquet": "simulator to Parquet, 32,768 rnics x 16 targets, both layers",
    "simulate-arrow": "simulator to an Arrow stream, the same",
}
#: Measured on request only: they take minutes and gigabytes.
LARGEST: Final = {
    "scale-1m": "localizer: a second of 1,000,000 paths x 100,000 components",
    "memory-1m": "worker: memory of windows and detectors, 1,000,000 paths",
    "restart-1m": "worker: what is read again after a restart, 1,000,000 paths",
}


def register(app: typer.Typer) -> None:
    """Add ``bench``."""

    @app.command(epilog="Example: skeletonhunter bench --only detect --only panes")
    def bench(
        only: Annotated[
            list[str] | None, typer.Option(help=f"One of {', '.join(MEASURES)}; repeatable.")
        ] = None,
        out: Annotated[Path | None, typer.Option(help="Write the table to this file too.")] = None,
        runs: Annotated[int, typer.Option(min=1, help="Runs of each measurement.")] = 3,
        scale: Annotated[
            bool, typer.Option(help="A million paths too: some minutes, and some GB.")
        ] = False,
    ) -> int:
        """Measure and print a table; exit code 1 when a goal is missed or a record was lost.

        A figure is the median of several runs, each in a process of its own, and their range. It is
        refused where other work took a part of the machine meanwhile.
        """
        from evaluation.bench.method.conditions import described
        from evaluation.machine import machine
        from skeletonhunter.errors import BadInput

        measures = MEASURES | LARGEST
        wanted = (only or list(MEASURES)) + list(LARGEST) * scale
        if unknown := [name for name in wanted if name not in measures]:
            raise BadInput(f"--only {unknown[0]}: choose of {', '.join(measures)}")
        before = described()
        rows, good = [], True
        for name in wanted:
            row, met = _row(name, measures[name], runs)
            rows.append(row)
            good = good and met
        said = f"median of {runs} runs (least to most)" if runs > 1 else "one run"
        head = [
            f"Machine: {machine()}; {said} of each measurement",
            f"Before: {before}. After: {described()}.",
        ]
        table = "\n".join([head[0] + "  ", head[1], "", *_HEAD, *rows, ""])
        terminal.echo(table)
        if out is not None:
            out.write_text(table)
        return 0 if good else 1


def _row(name: str, title: str, runs: int) -> tuple[str, bool]:
    """A measurement's row of the table, and whether it meets its goal."""
    from evaluation.bench.method.conditions import CpuTime, refusal
    from evaluation.bench.method.figure import summed_up

    results = []
    for run in range(runs):
        terminal.echo(f"{name} ... {run + 1} of {runs}", err=True)
        before = CpuTime.now()
        done = subprocess.run(  # noqa: S603 — our own module, in a fresh process
            [sys.executable, "-m", _module(name), name],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            terminal.echo(done.stderr[-2000:], err=True)
            return f"| {title} | failed | | |", False
        result = json.loads(done.stdout.splitlines()[-1])
        if (why := refusal(CpuTime.now().others_since(before))) is not None:
            terminal.echo(f"{result['figure']}: {why}", err=True)
            return f"| {title} | {why} | {result.get('goal', '')} | |", False
        results.append(result)
    whole = summed_up(results)
    goal, missed = whole.get("goal", ""), whole["missed"]
    cells = (title, whole["figure"], goal + " **missed**" * missed, f"{whole['rss_mb']:.0f} MB")
    return f"| {' | '.join(cells)} |", not missed


_HEAD: Final = ["| stage | measured | goal | peak RSS |", "|---|---|---|---|"]


def _module(name: str) -> str:
    """What measures it; ``evaluation`` may not import the store."""
    return (
        "skeletonhunter.measures.store" if name.startswith("store-") else "evaluation.bench.stages"
    )
