"""Measures all installed engines on the same records, and prints a Markdown table.

python -m evaluation.bench.peers [--out FILE] [--runs 3] [--seconds 30] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from evaluation.bench.peers.engine import HOP_S
from evaluation.bench.peers.registry import PEERS
from evaluation.bench.peers.table import Load, table

#: One thread each: CPU time is then that of one core, and least.
_THREADS: Final = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_ONE_THREAD: Final = dict.fromkeys(_THREADS, "1")


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 1 when an engine fails, or its window is not ours."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.bench.peers", description=__doc__)
    parser.add_argument("--out", type=Path, help="write the table to this file too")
    parser.add_argument("--runs", type=int, default=3, help="processes per engine")
    parser.add_argument("--seconds", type=int, default=30, help="of records that are measured")
    parser.add_argument("--only", action="append", choices=[*PEERS], help="repeatable")
    given = parser.parse_args(arguments)
    if given.seconds % HOP_S or given.seconds < HOP_S or given.runs < 1:
        parser.error(f"--seconds is a multiple of {HOP_S}, and --runs at least 1")
    wanted = given.only or [*PEERS]
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    why = {name: "not installed" for name in wanted if not PEERS[name].installed}
    before = os.getloadavg()[0]
    for run in range(given.runs):  # in turn: what slows the machine down meets all of them
        for name in wanted:
            if name in why:
                continue
            print(f"run {run + 1} of {given.runs}: {name} ...", file=sys.stderr, flush=True)
            environment = {**os.environ, **_ONE_THREAD, **PEERS[name].variables}
            done = subprocess.run(  # noqa: S603 — our own module, in a fresh process
                [sys.executable, "-m", "evaluation.bench.peers.measure", name, str(given.seconds)],
                capture_output=True, text=True, check=False, env=environment,
            )  # fmt: skip
            if done.returncode:
                print(done.stderr[-2000:], file=sys.stderr)
                why[name] = "failed"
            else:
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
    load = Load(before, os.getloadavg()[0])
    text = table(wanted, found, why, load)
    print(text)
    if given.out is not None:
        given.out.write_text(text)
    return int("failed" in why.values())


if __name__ == "__main__":
    sys.exit(main())
