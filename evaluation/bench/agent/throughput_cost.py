"""What measuring the throughput of a host's rnics costs its agent.

``python -m evaluation.bench.agent.throughput_cost`` prints the share of a core for eight rnics:
reading, and encoding a message each ten seconds. RDMA counters are files in a directory here: the
time that a device's firmware takes is not CPU of the host, and not in it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from probers.ping_list.document import JobRnics
from probers.throughput.port_counters import PortCounters
from probers.throughput.reporter import ThroughputReporter
from probers.throughput.seconds import NS

_RNICS: Final = 8
_SECONDS: Final = 500


class _Discarded:
    """A publisher that drops what it gets; ``sent``: bytes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.sent = 0

    def connect(self, timeout_s: float) -> None:
        """Nothing to reach."""

    def publish(
        self, topic: str, key: str, payload: bytes, content_type: str,
        headers: Mapping[str, bytes] | None = None,
    ) -> bool:  # fmt: skip
        """Count."""
        self.counts["queued"] += 1
        self.sent += len(payload)
        return True

    def poll(self) -> None:
        """Nothing is queued."""

    def close(self, timeout_s: float) -> int:
        """Nothing to close."""
        return 0


def cost(source: str, sysfs: Path, encoding: str) -> tuple[float, float]:
    """CPU time a second of measuring [s], and bytes a second that are published."""
    names = tuple(f"10.0.0.{number}" for number in range(_RNICS))
    counters = PortCounters(sources=dict.fromkeys(names, source), sysfs=sysfs)
    publisher, now = _Discarded(), [time.time_ns() // NS * NS]
    reporter = ThroughputReporter(
        publisher, "host-1", encoding, lambda: JobRnics("f1", names), counters,
        wall_ns=lambda: now[0], running_ns=lambda: now[0],
    )  # fmt: skip
    began_s = time.process_time()
    for _ in range(_SECONDS):
        now[0] += NS
        reporter.measure()
    return (time.process_time() - began_s) / _SECONDS, publisher.sent / _SECONDS


def main() -> None:
    """Print a line for each kind of counters and each encoding."""
    with TemporaryDirectory() as directory:
        counters = Path(directory) / "class/infiniband/mlx5_0/ports/1/counters"
        counters.mkdir(parents=True)
        for name in ("port_xmit_data", "port_rcv_data"):
            (counters / name).write_text("123456789012\n")
        for source in ("rdma:mlx5_0/1", "net:lo"):
            for encoding in ("arrow", "ndjson"):
                used_s, sent = cost(source, Path(directory), encoding)
                print(
                    f"{_RNICS} rnics, {source:13} {encoding:6}  {100 * used_s:.3f} % of a core, "
                    f"{sent:,.0f} B/s before compression"
                )


if __name__ == "__main__":
    main()
