"""Parameters of the merge, and of the stages whose outputs are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class MergeParameters:
    """For which partitions the merge waits, and how much it buffers meanwhile.

    stall_s       a partition is stalled when the others have spent so long reading newer messages,
    step_s        of which the time between two updates counts at most this
    unasked_s     event time moves at most so far without asking where quiet partitions end
    buffer_bytes  payload that is buffered
    caught_up_s   a stage whose lag is below this has caught up after a start or a rebalance
    """

    stall_s: float = parameter(5.0, unit="s", source="chosen: pytest tests/streams/merge")
    step_s: float = parameter(
        0.5, unit="s",
        source="chosen: a pause of the worker is no partition's fault, and a burst of updates "
        "takes no time",
    )  # fmt: skip
    unasked_s: int = parameter(
        3, unit="s", source="chosen: above the second between two ticks, in which live data moves 1"
    )
    buffer_bytes: int = parameter(
        64 * 1024 * 1024, unit="B", source="chosen: some minutes of a fabric with 10,000 paths"
    )
    caught_up_s: float = parameter(5.0, unit="s", source="chosen: pytest tests/streams/merge")


@dataclass(frozen=True, slots=True)
class IngestParameters:
    """How messages of skh.pings are batched.

    batch_messages  are windowed together at the most,
    batch_bytes     and so much payload
    flush_s         from the end of one flush to the next
    tick_s          from one closing by wall clock to the next
    reconnect_s     after an absence of the broker, until a silent partition counts as silent
    clock_s         messages of the last one or two such spans tell the brokers' time
    """

    batch_messages: int = parameter(
        256, unit="messages", source="chosen: shares the cost of a call of numpy and Arrow"
    )
    batch_bytes: int = parameter(
        4 * 1024 * 1024, unit="B", source="chosen: shares the cost of a call of numpy and Arrow"
    )
    flush_s: float = parameter(0.1, unit="s", source="chosen: below the lateness of 2 s")
    tick_s: float = parameter(1.0, unit="s", source="chosen: a pane spans 1 s")
    reconnect_s: float = parameter(
        15.0, unit="s",
        source="chosen: clients of agents try again every 10 s (reconnect.backoff.max.ms)",
    )  # fmt: skip
    clock_s: float = parameter(
        300.0, unit="s", source="chosen: any message of it that was read at once suffices"
    )


@dataclass(frozen=True, slots=True)
class HeartbeatParameters:
    """How messages of skh.heartbeats are batched.

    batch      messages that are published together at the most
    flush_s    from the end of one flush to the next
    refresh_s  between two questions to the broker where quiet partitions end
    ahead_s    how far a heartbeat's clock may be ahead of the broker's to move the event time of
               its partition
    """

    batch: int = parameter(4096, unit="messages", source="chosen: bounds the memory")
    flush_s: float = parameter(0.5, unit="s", source="chosen: below the lateness of 2 s")
    refresh_s: float = parameter(1.0, unit="s", source="chosen: a pane spans 1 s")
    ahead_s: int = parameter(
        60, unit="s",
        source="chosen: a clock far ahead must not delay the heartbeats of other agents",
    )  # fmt: skip


MERGE: Final = MergeParameters()
INGEST: Final = IngestParameters()
HEARTBEATS: Final = HeartbeatParameters()
