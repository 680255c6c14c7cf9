"""``python -m evaluation.chaos``: apply faults to the pipeline, print a row for each."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from evaluation.chaos import table
from evaluation.chaos.faults import FAULTS
from evaluation.chaos.run import play
from testbed.services import kafka_server

_PAGE: Final = Path("docs/reliability.md")


@contextlib.contextmanager
def _folder(keep: Path | None, name: str) -> Iterator[str]:
    """An empty folder that is removed again, or one that stays."""
    if keep is None:
        with tempfile.TemporaryDirectory() as folder:
            yield folder
    else:
        keep.mkdir(parents=True, exist_ok=True)
        yield tempfile.mkdtemp(prefix=f"{name}-", dir=keep)


def main() -> int:
    """Exit code 1 when something does not hold, 2 when nothing can be tried here."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.chaos", description=__doc__)
    parser.add_argument("faults", nargs="*", help="names of faults; none: all of them")
    parser.add_argument("--list", action="store_true", help="print the faults and exit")
    parser.add_argument("--write", action="store_true", help=f"write each row into {_PAGE}")
    parser.add_argument("--keep", type=Path, help="folder for logs and data, which stay")
    parser.add_argument(
        "--other", type=Path, metavar="TREE",
        help="working tree of another release for rolling-upgrade and rolling-back (git worktree "
        "add TREE v0.1.0); without it both are this one",
    )  # fmt: skip
    given = parser.parse_args()
    other = given.other and given.other.resolve()
    if other is not None and not (other / "skeletonhunter").is_dir():
        parser.error(f"--other: {other} is no working tree of this repository")
    if given.list:
        print("\n".join(f"{each.name:28} {each.text}" for each in FAULTS))
        return 0
    known = {each.name: each for each in FAULTS}
    if unknown := [name for name in given.faults if name not in known]:
        parser.error(f"{unknown[0]}: choose of {', '.join(known)}")
    if why := kafka_server.missing():
        print(why, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and end the processes of the run
    print(table.HEADER, flush=True)
    outcomes = []
    for fault in [known[name] for name in given.faults] or FAULTS:
        if why := fault.needs():
            print(f"  {fault.name}: not tried: {why}", file=sys.stderr, flush=True)
            continue
        began = time.monotonic()
        with _folder(given.keep, fault.name) as folder:
            outcome = play(fault, Path(folder), other=other)
        outcomes.append(outcome)
        timed = not table.busy()
        print(table.row(outcome, timed=timed), flush=True)
        if given.write:
            rows = {fault.text: table.row(outcome, timed=timed)}
            _PAGE.write_text(table.into(_PAGE.read_text(), rows))
        for problem in outcome.problems:
            print(f"  {fault.name}: {problem}", file=sys.stderr, flush=True)
        if fault.replicas:
            print(f"  {fault.name}: {table.callers(outcome)}", file=sys.stderr, flush=True)
        print(f"  {fault.name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return 1 if any(each.problems for each in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
