"""What an agent publishes of its probing: records of probes and routes, and its heartbeats."""

from __future__ import annotations

from collections import Counter
from functools import partial
from time import monotonic_ns, time_ns

from probers.health.cpu_withheld import CpuWithheld
from probers.health.heartbeat import AgentIdentity, heartbeat
from probers.ping_list.document import Endpoint
from probers.probing.traceroute import Trace
from probers.probing.udp import Burst
from probers.process.loop import Loop
from probers.publishing.batcher import Batcher
from probers.publishing.publisher import Publisher
from probers.publishing.record import ping_columns, trace_columns
from schemas import topics


class Reporting:
    """Publishes until ``end``; for the loop's thread."""

    def __init__(
        self, loop: Loop, publisher: Publisher, identity: AgentIdentity, encoding: str
    ) -> None:
        """``encoding``: of records, arrow or ndjson."""
        self._loop, self._publisher, self._identity = loop, publisher, identity
        self._batcher = Batcher(loop, publisher, identity.node_sn, encoding)
        self._cpu, self._cpu_withheld = CpuWithheld(), 0.0
        #: Worst delay of a timer in the last second [ns].
        self.delay_ns = 0
        self.ended = False

    def burst(self, burst: Burst, task: str = "UDP_PING") -> None:
        """Publish probes of one five-tuple, soon."""
        if not self.ended:
            own = partial(ping_columns, burst, self._cpu_withheld, task)
            self._batcher.add(burst.flow.columns, own)

    def trace(self, trace: Trace) -> None:
        """Publish a route, soon."""
        if not self.ended:
            self._batcher.add(trace.flow.columns, partial(trace_columns, trace))

    def measure(self) -> None:
        """Read how much CPU time was withheld in the last second, and serve the publisher."""
        self._cpu_withheld = round(self._cpu.read(monotonic_ns()), 4)
        self._publisher.poll()
        self.delay_ns = self._loop.reset_worst_delay_ns()

    def heartbeat(
        self,
        fabric: str,
        endpoints: list[Endpoint],
        sent: Counter[str],
        answered: Counter[str],
        *,
        alive: bool,
    ) -> None:
        """Publish a heartbeat; ``sent``, ``answered``: probes by own address."""
        if self.ended:
            return
        beat = heartbeat(
            self._identity, fabric, endpoints, sent, answered,
            now_ns=time_ns(), cpu_steal=self._cpu_withheld, delay_ns=self.delay_ns, alive=alive,
        )  # fmt: skip
        self._publisher.publish(topics.HEARTBEATS.name, self._identity.node_sn, beat, topics.JSON)

    def flush(self) -> None:
        """Publish the records that wait for others."""
        self._batcher.flush()

    def end(self) -> None:
        """Publish what was measured, and nothing from now on."""
        self.flush()
        self.ended = True
