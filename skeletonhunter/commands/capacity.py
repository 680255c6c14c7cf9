"""``skeletonhunter capacity``: what a number of rnics takes, from measured figures."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Final, Literal, NamedTuple

import typer

from skeletonhunter import terminal

#: Measured, as in benchmarks/results.md (a test compares).
WORKER_RECORDS: Final = 223_578  # broker to incidents, 64 records a message [records/s/core]
PINGS_STORED: Final = 563_660  # [pings/s/core]
WINDOWS_STORED: Final = 157_719  # [windows/s/core]
STORED_PING_B: Final = 6.1
STORED_SAMPLE_B: Final = 7.0  # throughput of one rnic in one second
RECORD_B: Final = 101  # of a record in Arrow, before Kafka compresses
#: (paths, CPU of one second with five faults [ms], peak resident memory [MB]) of a localizer.
LOCALIZER: Final = ((10_752, 90, 283), (100_352, 130, 458), (1_003_520, 542, 2421))
#: Days for which the store keeps probes and throughput, as in its migrations (a test compares).
KEPT_DAYS: Final = 14
_WINDOW_EVERY_S: Final = 5
_DAY_S: Final = 86_400
_LEAST_PARTITIONS: Final = 4
#: Chosen, not measured: a core is planned to be busy for half of the time, since seconds of faults
#: and of start-up cost more; a broker takes 50 MB/s, a shard has 16 cores.
BUSY: Final = 0.5
BROKER_MB_S: Final = 50
SHARD_CORES: Final = 16
LEAST_BROKERS: Final = 3  # of which each message is on all
#: Rows of docs/capacity.md, with 16 targets a rnic and a probe of each a second.
EXAMPLES: Final = (256, 2_048, 8_192, 32_768)


class Plan(NamedTuple):
    """What one fabric takes.

    judged_cpu_s, judged_mb  of the one localizer, for a second with five faults; None: more paths
                             than were measured
    """

    rnics: int
    paths: int
    records_s: float
    kafka_mb_s: float
    brokers: int
    partitions: int
    worker_cores: float
    judged_cpu_s: float | None
    judged_mb: float | None
    sink_cores: float
    shards: int
    pings_gb: float
    throughput_gb: float


def plan(rnics: int, targets: int, interval_s: float) -> Plan:
    """rnics     in one fabric [count]
    targets    five-tuples that each probes [count]
    interval_s between two probes of a five-tuple [s]
    """
    paths = rnics * targets
    records = paths / interval_s
    megabytes = records * RECORD_B / 1e6
    worker_cores = records / WORKER_RECORDS / BUSY
    sink_cores = (records / PINGS_STORED + paths / _WINDOW_EVERY_S / WINDOWS_STORED) / BUSY
    return Plan(
        rnics=rnics, paths=paths, records_s=records, kafka_mb_s=megabytes,
        brokers=max(LEAST_BROKERS, math.ceil(LEAST_BROKERS * megabytes / BROKER_MB_S)),
        partitions=max(_LEAST_PARTITIONS, math.ceil(worker_cores)),
        worker_cores=worker_cores,
        judged_cpu_s=None if (ms := _judged(paths, 1)) is None else ms / 1000,
        judged_mb=_judged(paths, 2),
        sink_cores=sink_cores, shards=math.ceil(sink_cores / SHARD_CORES),
        pings_gb=records * STORED_PING_B * KEPT_DAYS * _DAY_S / 1e9,
        throughput_gb=rnics * STORED_SAMPLE_B * KEPT_DAYS * _DAY_S / 1e9,
    )  # fmt: skip


def _judged(paths: int, column: int) -> float | None:
    """Between two measured numbers of paths by a straight line; below the least one, as that."""
    if paths <= LOCALIZER[0][0]:
        return float(LOCALIZER[0][column])
    for low, high in pairwise(LOCALIZER):
        if paths <= high[0]:
            share = (paths - low[0]) / (high[0] - low[0])
            return low[column] + share * (high[column] - low[column])
    return None


_HEAD: Final = (
    "rnics", "paths", "records/s", "Kafka in, MB/s", "brokers", "partitions", "worker cores",
    "judging a second, CPU s", "judging, MB", "sink and store cores", "shards",
    "probes stored, GB", "throughput stored, GB",
)  # fmt: skip


def markdown(plans: Sequence[Plan]) -> str:
    """A table with a row for each plan."""
    rows = [_HEAD, ("---",) * len(_HEAD), *(tuple(_cell(value) for value in p) for p in plans)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(value: float | None) -> str:
    if value is None:
        return "not measured"
    if isinstance(value, int) or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}"


def register(app: typer.Typer) -> None:
    """Add ``capacity``."""

    @app.command(epilog="Example: skeletonhunter capacity --rnics 4096 --targets 24")
    def capacity(
        rnics: Annotated[
            list[int] | None,
            typer.Option(min=1, max=1_000_000, help="in one fabric, repeatable"),
        ] = None,
        targets: Annotated[
            int, typer.Option(min=1, max=10_000, help="five-tuples that each rnic probes")
        ] = 16,
        interval: Annotated[
            float, typer.Option(min=0.01, max=3600, help="between two probes of one [s]")
        ] = 1.0,
        output: Annotated[
            Literal["table", "json"], typer.Option("--format", help="Markdown, or a JSON array.")
        ] = "table",
    ) -> int:
        """Plan brokers, workers, the store and bytes for a number of rnics.

        From figures that were measured on one machine; docs/capacity.md says which, and what is
        only assumed.
        """
        plans = [plan(each, targets, interval) for each in rnics or EXAMPLES]
        if output == "json":
            terminal.echo(json.dumps([each._asdict() for each in plans], indent=1))
        else:
            terminal.echo(markdown(plans))
        return 0
