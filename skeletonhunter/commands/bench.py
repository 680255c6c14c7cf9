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
        scale: Annotated[
            bool, typer.Option(help="A million paths too: some minutes, and some GB.")
        ] = False,
    ) -> int:
        """Measure and print a table; exit code 1 when a goal is missed or a record was lost."""
        from evaluation.machine import machine
        from skeletonhunter.errors import BadInput

        measures = MEASURES | LARGEST
        wanted = (only or list(MEASURES)) + list(LARGEST) * scale
        if unknown := [name for name in wanted if name not in measures]:
            raise BadInput(f"--only {unknown[0]}: choose of {', '.join(measures)}")
        rows, code = [], 0
        for name in wanted:
            terminal.echo(f"{name} ...", err=True)
            run = subprocess.run(  # noqa: S603 — our own module, in a fresh process
                [sys.executable, "-m", _module(name), name],
                capture_output=True, text=True, check=False, env=_environment(name),
            )  # fmt: skip
            if run.returncode:
                terminal.echo(run.stderr[-2000:], err=True)
                rows.append(f"| {measures[name]} | failed | | |")
                code = 1
                continue
            result = json.loads(run.stdout.splitlines()[-1])
            goal = result.get("goal", "")
            if result.get("missed"):
                code = 1
                goal += " **missed**"
            memory = f"{result['rss_mb']:.0f} MB"
            rows.append(f"| {measures[name]} | {result['figure']} | {goal} | {memory} |")
        table = "\n".join([f"Machine: {machine()}", "", *_HEAD, *rows, ""])
        terminal.echo(table)
        if out is not None:
            out.write_text(table)
        return code


_HEAD: Final = ["| stage | measured | goal | peak RSS |", "|---|---|---|---|"]


def _module(name: str) -> str:
    """What measures it; ``evaluation`` may not import the store."""
    return (
        "skeletonhunter.measures.store" if name.startswith("store-") else "evaluation.bench.stages"
    )


def _environment(name: str) -> dict[str, str]:
    """The environment of a measurement; those per core run the linear algebra in one thread."""
    import os

    alone = {"OPENBLAS_NUM_THREADS": "1"} if name.startswith("scale-") else {}
    return {**os.environ, **alone}
