"""``skeletonhunter check``: incidents against the truth, of one run or of the whole scorecard."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

_PAGE: Final = Path("docs/scorecard.md")


def register(app: typer.Typer) -> None:
    """Add ``check``."""
    check = typer.Typer(
        help="Compare what was blamed with what was broken.",
        epilog="Example: skeletonhunter check score /tmp/demo incidents.jsonl",
        no_args_is_help=True,
    )
    app.add_typer(check, name="check")

    @check.callback()
    def root() -> None:
        pass

    @check.command(epilog="Example: skeletonhunter check score /tmp/demo incidents.jsonl")
    def score(
        directory: Annotated[Path, typer.Argument(help="Where truth.json is.")],
        incidents: Annotated[Path, typer.Argument(help="Output of diagnose --format json.")],
        output: Annotated[
            Literal["text", "json"], typer.Option("--format", help="For people or programs.")
        ] = "text",
    ) -> int:
        """Match incidents with truths; exit code 1 when one is missed or an incident is false."""
        from testbed.scoring import score as scoring
        from testbed.scoring import truth

        try:
            truths = truth.load(directory / "truth.json")
            result = scoring.score(truths, scoring.load_incidents(incidents))
        except (truth.TruthError, scoring.ScoreError) as why:
            raise BadInput(str(why)) from why
        except OSError as why:
            raise BadInput(f"{why.filename}: {why.strerror}") from why
        if output == "json":
            typer.echo(scoring.to_json(result).decode())
        else:
            terminal.echo(scoring.to_text(result))
        return 0 if result.perfect else 1

    @check.command(epilog="Example: skeletonhunter check series latency.csv --windows labels.json")
    def series(
        file: Annotated[Path, typer.Argument(help="CSV with columns timestamp and value.")],
        windows: Annotated[Path, typer.Option(help="JSON list of [from, until] labelled bad.")],
    ) -> int:
        """Run the latency detector on one series; exit code 1 on a miss or a false alarm."""
        from testbed.scoring import series as checking

        try:
            outcome = checking.check(file, windows)
        except checking.SeriesError as why:
            raise BadInput(str(why)) from why
        except (UnicodeDecodeError, csv.Error) as why:
            raise BadInput(f"{file}: not a CSV of text: {why}") from why
        except OSError as why:
            raise BadInput(f"{why.filename}: {why.strerror}") from why
        terminal.echo(checking.to_text(outcome))
        return 0 if outcome.perfect else 1

    @check.command(
        epilog="Example: skeletonhunter check scorecard --only path --seeds-from 1000 --seeds 5 "
        "--out var/mine.md"
    )
    def scorecard(
        out: Annotated[
            Path | None,
            typer.Option(help=f"Page to write; results and pictures go beside it. [{_PAGE}]"),
        ] = None,
        quick: Annotated[
            bool, typer.Option("--quick", help="Few seeds, small scenarios, less than 5 minutes.")
        ] = False,
        full: Annotated[
            bool, typer.Option("--full", help="All seeds of every scenario; takes many hours.")
        ] = False,
        only: Annotated[
            list[str] | None,
            typer.Option(help="path, pipeline, clean, a setting or a scenario; repeatable."),
        ] = None,
        seeds: Annotated[int | None, typer.Option(min=1, help="Seeds a setting.")] = None,
        seeds_from: Annotated[
            int | None, typer.Option(min=0, help="First seed; 1000 while developing.")
        ] = None,
        strategies: Annotated[
            list[str] | None, typer.Option(help="Only these strategies; repeatable.")
        ] = None,
        clean_hours: Annotated[
            float | None, typer.Option(min=0.1, help="Simulated hours without faults, in all.")
        ] = None,
        minutes: Annotated[
            float | None,
            typer.Option(min=0.0, help="Begin no trial later than this. [80, quick 4, full none]"),
        ] = None,
        jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
        render_only: Annotated[
            bool, typer.Option("--render-only", help="Draw the page from the results there are.")
        ] = False,
    ) -> int:
        """Try every strategy on the published settings and the pipeline on every scenario.

        A stopped run continues where it stopped, as long as the code is the same.
        """
        from evaluation.scorecard import plan
        from evaluation.scorecard.page.plots import NoMatplotlib
        from evaluation.scorecard.records import RecordsError
        from evaluation.scorecard.scorecard import scorecard as make_scorecard

        request = plan.PlanRequest(
            quick=quick, full=full, only=tuple(only or ()), seeds=seeds, seeds_from=seeds_from,
            strategies=tuple(strategies or ()), clean_hours=clean_hours,
        )  # fmt: skip
        if out is None and not request.final and not render_only:
            raise BadInput(f"--out: name a page; {_PAGE} is for the whole plan on its final seeds")
        try:
            text = make_scorecard(
                request, out or _PAGE, jobs=jobs, limit_min=minutes, render_only=render_only,
                report=lambda line: terminal.echo(line, err=True),
            )  # fmt: skip
        except (plan.UnknownName, RecordsError, NoMatplotlib) as why:
            raise BadInput(str(why)) from why
        except OSError as why:
            raise BadInput(f"{why.filename}: {why.strerror}") from why
        terminal.echo(text)
        return 0

    @check.command(
        epilog="Example: skeletonhunter check skeleton --size 512 --seeds 5 --seeds-from 1000"
    )
    def skeleton(
        size: Annotated[list[int] | None, typer.Option(help="Rnics; repeatable. [all]")] = None,
        layout: Annotated[list[str] | None, typer.Option(help="dense or moe. [both]")] = None,
        condition: Annotated[
            list[str] | None, typer.Option(help="What impairs the measurement; repeatable. [all]")
        ] = None,
        seeds: Annotated[int, typer.Option(min=1, help="Seeds of each.")] = 20,
        seeds_from: Annotated[
            int, typer.Option(min=0, help="First seed; 5000 are the final ones.")
        ] = 1000,
        quiet: Annotated[bool, typer.Option(help="Jobs without collectives too.")] = True,
        worst: Annotated[bool, typer.Option("--worst", help="Print trials that failed.")] = False,
    ) -> int:
        """Infer skeletons of known layouts; exit code 1 when a goal is missed."""
        from evaluation.skeleton import table, trials

        conditions = _chosen("--condition", condition, trials.CONDITIONS)
        layouts = _chosen("--layout", layout, trials.LAYOUTS)
        span = range(seeds_from, seeds_from + seeds)
        done = []
        for each in trials.trials(size or trials.SIZES, conditions, layouts, span):
            done.append(each)
            if worst and (each.missed or each.rand < table.RAND):
                terminal.echo(str(each), err=True)
        if quiet:
            done += trials.quiet_trials(span)
        terminal.echo(table.table(done))
        return 0 if table.met(done) else 1


def _chosen(option: str, wanted: list[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := [name for name in wanted or [] if name not in known]:
        raise BadInput(f"{option} {unknown[0]}: choose of {', '.join(known)}")
    return tuple(wanted or known)
