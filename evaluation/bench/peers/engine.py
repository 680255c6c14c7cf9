"""What an engine is asked for, and what is the same in several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas.parameters.window_timing import DEFAULT_TIMING

U64 = npt.NDArray[np.uint64]

WINDOW_S: Final = DEFAULT_TIMING.window_s
HOP_S: Final = DEFAULT_TIMING.hop_s
SECOND: Final = 1_000_000_000

#: A path's identity in the record, as in ``schemas.identity``; the simulator fills all of them
#: but the node ids, which records of the underlay have not.
TEXTS: Final = (
    "src_idc", "agent_type", "task_type", "src_node_id", "src_ip", "dst_node_id", "dst_ip",
)  # fmt: skip
PORTS: Final = ("src_port", "dst_port")
KEY: Final = (*TEXTS, *PORTS)
VALUES: Final = ("ping_time", "latency", "sent", "lost")

#: A row of a window: key of the path, counts, and round trips of the answered probes [us].
COUNTS: Final = ("records", "sent", "lost", "rtt_count")
QUANTILES: Final = {"p25": 0.25, "p50": 0.5, "p75": 0.75}
FEATURES: Final = ("mean", "p25", "p50", "p75", "min", "std", "max")


class Second(NamedTuple):
    """Decoded ping records that are sent within [start_s, start_s + 1), but for wrong clocks."""

    start_s: int
    pings: pa.RecordBatch


Emit = Callable[[int, Any], None]


class Engine(Protocol):
    """Reads seconds, emits windows of WINDOW_S each HOP_S."""

    version: str

    def run(self, seconds: Iterable[Second], emit: Emit) -> None:
        """Pulls one second after the other; emits (end_s, part of the window that ends then).

        Other work than windows, like converting them for the comparison, is left to ``table``.
        """

    def table(self, parts: list[Any]) -> pa.Table:
        """The emitted parts of one window as columns path, COUNTS and FEATURES."""

    def keys(self, pings: pa.RecordBatch) -> U64:
        """(rows,) the engine's own key of each record's path; only for the comparison."""


def each_hop(
    seconds: Iterable[Second],
    add: Callable[[pa.RecordBatch], None],
    window: Callable[[int, int], Any],
    emit: Emit,
) -> None:
    """Adds each second, and asks for a window a second after its end, when stragglers are there.

    window  called with start_s and end_s of [start_s, end_s)
    """
    for count, second in enumerate(seconds):
        add(second.pings)
        if count >= WINDOW_S and second.start_s % HOP_S == 0:
            emit(second.start_s, window(second.start_s - WINDOW_S, second.start_s))


def joined_keys(rows: pa.RecordBatch | pa.Table) -> list[str]:
    """(rows,) KEY as one text each, for engines that have no hash of several columns."""
    texts = [pc.fill_null(rows.column(name), "") for name in TEXTS]
    texts += [rows.column(name).cast(pa.string()) for name in PORTS]
    found: list[str] = pc.binary_join_element_wise(*texts, "|").to_pylist()
    return found
