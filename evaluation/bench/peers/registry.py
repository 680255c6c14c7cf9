"""The engines, by name: where each is, and what it does less or more than the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from evaluation.bench.peers import flink
from evaluation.bench.peers.engine import Engine
from schemas.compiled import native

_ENGINES: Final = "evaluation.bench.peers.engines"


@dataclass(frozen=True, slots=True)
class Peer:
    """A row of the table.

    place      module in engines/, and class
    package    what has to be installed; of Flink, elsewhere
    does       less or more than the other rows
    arguments  of the class
    variables  of its process's environment
    exact      quantiles are interpolated linearly between samples (type 7), as ours are
    one_in     it gets the records of one path in so many: with all it would take too long
    """

    title: str
    place: tuple[str, str]
    package: str
    does: str
    arguments: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    exact: bool = True
    one_in: int = 1

    @property
    def installed(self) -> bool:
        """Whether its package is there; the group ``peers`` of pyproject.toml has all of them."""
        return flink.installed() if self.apart else find_spec(self.package) is not None

    @property
    def apart(self) -> bool:
        """Whether it is no ``Engine``, but a program with an environment of its own."""
        return self.package == "pyflink"

    def load(self) -> Engine:
        """A new engine without records."""
        module, name = self.place
        engine: Engine = getattr(import_module(f"{_ENGINES}.{module}"), name)(**self.arguments)
        return engine


_BATCH: Final = (
    "one query a window; its rows have the path's hash, not its names; nothing checked, no state "
    "of late or repeated records, no one-second panes, no messages"
)

PEERS: Final = {
    "ours": Peer(
        "SkeletonHunter, `PartitionWorker.feed`", ("ours", "Ours"), "streams",
        "more: clocks and watermarks per host, late and repeated records, one-second panes, names "
        "of all paths, encoded chunks of both for Kafka",
    ),
    "ours-python": Peer(
        "SkeletonHunter, the same", ("ours", "Ours"), "streams", "as above",
        variables={native.VARIABLE: "off"},
    ),
    "clickhouse": Peer(
        "ClickHouse SQL, `quantilesExactInclusive`", ("clickhouse", "ClickHouse"), "chdb",
        f"{_BATCH}; a table in memory that keeps 31.5 s",
    ),
    "clickhouse-tdigest": Peer(
        "ClickHouse SQL, `quantilesTDigest`", ("clickhouse", "ClickHouse"), "chdb",
        "as above, approximate quantiles", {"quantiles": "quantilesTDigest"}, exact=False,
    ),
    "duckdb": Peer(
        "DuckDB SQL over Arrow, `quantile_cont`", ("duckdb_sql", "DuckDB"), "duckdb", _BATCH,
    ),
    "polars": Peer(
        "Polars, lazy, streaming engine", ("polars_frames", "Polars"), "polars", _BATCH,
    ),
    "bytewax": Peer(
        "Bytewax, `fold_window`", ("bytewax_flow", "Bytewax"), "bytewax",
        "record by record in Python, so event time per path and late records as well; one path "
        "in 16 (2,592 records/s)", one_in=16,
    ),
    "flink": Peer(
        "Flink SQL, `HOP` and `PERCENTILE`", ("", ""), "pyflink",
        "event time and late records, names of the paths as key; no panes, no messages; JVM, reads "
        "a file of 40 s, less what a job needs that only reads it; the second job in its process",
    ),
}  # fmt: skip
