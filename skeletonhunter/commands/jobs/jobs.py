"""``skeletonhunter jobs``: jobs and their containers, over the controller or on the topics."""

from __future__ import annotations

import sys
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from skeletonhunter import terminal
from skeletonhunter.commands.jobs.places import Status, place_of
from skeletonhunter.errors import BadInput

_KAFKA = Annotated[
    bool,
    typer.Option("--kafka", help="Use the topics (SKH_KAFKA): where no controller runs."),
]
_FORMAT = Annotated[
    Literal["table", "json"], typer.Option("--format", help="For people or programs.")
]


def register(app: typer.Typer) -> None:
    """Add ``jobs`` with ``apply``, ``list``, ``show``, ``end`` and ``import``."""
    jobs = typer.Typer(
        help="Training jobs: what is probed for them follows from where their containers run.",
        epilog="Example: SKH_CONTROLLER_TOKEN_FILE=me.token skeletonhunter jobs list",
        no_args_is_help=True,
    )
    app.add_typer(jobs, name="jobs")
    where = "SKH_CONTROLLER_TOKEN_FILE=me.token"
    jobs.command(epilog=f"Example: {where} skeletonhunter jobs apply jobs.yaml")(apply)
    jobs.command("list", epilog=f"Example: {where} skeletonhunter jobs list")(list_)
    jobs.command(epilog=f"Example: {where} skeletonhunter jobs show train-1")(show)
    jobs.command(epilog=f"Example: {where} skeletonhunter jobs end train-1")(end)
    jobs.command(
        "import",
        epilog=f"Example: squeue --json | {where} skeletonhunter jobs import --from slurm -",
    )(import_)


def apply(
    file: Annotated[Path, typer.Argument(help="Jobs as YAML or JSON; -: standard input.")],
    kafka: _KAFKA = False,
) -> int:
    """Make jobs as a file declares them; what is so already is left alone.

    Containers that the file does not name any more leave their job.
    """
    from controller.sources.job_file import JobFileError, parse

    try:
        jobs = parse(_text(file), "standard input" if str(file) == "-" else str(file))
    except JobFileError as why:
        raise BadInput(str(why)) from why
    place = place_of(kafka)
    for job in jobs:
        events = place.declare(job)
        terminal.echo(f"{job.job}: {f'{events} events' if events else 'unchanged'}")
    return 0


def list_(kafka: _KAFKA = False, output: _FORMAT = "table") -> int:
    """List the jobs that are known, with their containers by state."""
    found = place_of(kafka).statuses()
    if output == "json":
        sys.stdout.writelines(msgspec.json.encode(each).decode() + "\n" for each in found)
        return 0
    for each in found:
        terminal.echo(_line(each))
    if not found:
        terminal.echo("no jobs")
    return 0


def show(
    job: Annotated[str, typer.Argument(help="The job's name.")],
    kafka: _KAFKA = False,
    output: _FORMAT = "table",
) -> int:
    """Show a job: its containers, and what its ping lists are made of."""
    found = place_of(kafka).status(job)
    if output == "json":
        terminal.echo(msgspec.json.encode(found).decode())
        return 0
    terminal.echo(_line(found))
    for fabric, phase in sorted(found["lists"].items()):
        text = "  ".join(f"{name} {value}" for name, value in phase.items() if value != "")
        terminal.echo(f"  fabric {fabric}: {text}")
    for box in found["containers"]:
        terminal.echo(f"  {box['state']:<9} {box['node_sn']}  {box['node_id']}")
    return 0


def end(
    job: Annotated[str, typer.Argument(help="The job's name.")], kafka: _KAFKA = False
) -> int:  # fmt: skip
    """End a job: its containers are not probed any more."""
    terminal.echo(_line(place_of(kafka).end(job)))
    return 0


def import_(
    file: Annotated[
        Path, typer.Argument(help="Output of squeue --json or scontrol show job -o; -: input.")
    ],
    source: Annotated[Literal["slurm"], typer.Option("--from", help="What wrote it.")],
    fabric: Annotated[str, typer.Option(help="Fabric of the hosts.")] = "default",
    cluster: Annotated[
        str, typer.Option(help="Name of the Slurm cluster, where there are several.")
    ] = "",
) -> int:
    """Tell the controller which jobs run: exactly these, of the cluster.

    Running jobs that it does not know begin, and those of the cluster that are not in the output
    any more end. Hosts that are in no topology are left out.
    """
    from controller.sources.slurm.slurm_jobs import SlurmError, parse
    from skeletonhunter import settings
    from skeletonhunter.controller_client import ControllerClient

    taken_s = time.time() if str(file) == "-" else _written_s(file)
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None, "a local time has a zone"  # noqa: S101 — for the type checker
    try:
        jobs = parse(_text(file), zone, cluster)
    except SlurmError as why:
        raise BadInput(f"{file}: {why}") from why
    client = ControllerClient.of(settings.read())
    queue = {"jobs": jobs, "taken_ms": round(1000 * taken_s), "cluster": cluster, "fabric": fabric}
    answer = client.put(queue, source, "jobs")
    terminal.echo(
        f"{len(answer['jobs'])} jobs run, {len(answer['ended'])} have ended, "
        f"{len(answer['ignored'])} have no host of fabric {fabric}; {answer['events']} events"
    )
    return 0


def _line(status: Status) -> str:
    """One job for people."""
    job = status["job"]
    submitted = job["submitted"] or {}
    states = Counter(each["state"] for each in status["containers"])
    counted = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    phases = {phase["phase"] for phase in status["lists"].values()}
    words = [
        job["job"], submitted.get("fabric", "-"), submitted.get("tenant") or "-",
        counted or "no containers", *sorted(phases),
    ]  # fmt: skip
    if job["ended"] is not None and job["ended"]["valid_from"] >= submitted.get("valid_from", ""):
        words.append(f"ended {job['ended']['valid_from']}")
    return "  ".join(words)


def _text(file: Path) -> str:
    """Raises BadInput."""
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text()
    except OSError as why:
        raise BadInput(f"{file}: {why.strerror}; give a readable file") from why
    except UnicodeDecodeError as why:
        raise BadInput(f"{file}: not UTF-8") from why


def _written_s(file: Path) -> float:
    """When the file was written; raises BadInput."""
    try:
        return file.stat().st_mtime
    except OSError as why:
        raise BadInput(f"{file}: {why.strerror}; give a readable file") from why
