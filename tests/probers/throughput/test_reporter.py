"""What an agent publishes of its host's rnics: rows of seconds, in few and bounded messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from probers.ping_list.document import JobRnics
from probers.throughput.port_counters import Unreadable
from probers.throughput.reporter import BATCH_S, MAX_RNICS, ThroughputReporter
from probers.throughput.seconds import NS, Reading
from schemas import topics
from streams.readers.throughput_rows import ThroughputRows, decode

START = 1_700_000_000  # a multiple of BATCH_S


class Messages:
    """A publisher that keeps what it gets."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.rows: list[ThroughputRows] = []

    def publish(
        self, topic: str, key: str, payload: bytes, content_type: str, headers: object = None
    ) -> bool:
        assert (topic, key) == (topics.THROUGHPUT.name, "host-1")
        self.rows.append(decode(payload, content_type))
        return True

    def connect(self, timeout_s: float) -> None: ...

    def poll(self) -> None: ...

    def close(self, timeout_s: float) -> int:
        return 0


class Host:
    """A host in virtual time, each of whose rnics sends 1,000 and receives 10 bytes a second."""

    def __init__(self, encoding: str = "arrow", rnics: int = 2) -> None:
        self.now_ns = START * NS
        self.used = JobRnics("f1", tuple(f"10.0.0.{number}" for number in range(rnics)))
        self.broken: set[str] = set()
        self.doubts: dict[str, str] = {}
        self.reads = self.prepared = 0
        self.messages = Messages()
        self.reporter = ThroughputReporter(
            self.messages, "host-1", encoding, lambda: self.used, self, phase=0,
            wall_ns=lambda: self.now_ns, running_ns=lambda: self.now_ns,
        )  # fmt: skip

    def prepare(self, rnics: Iterable[str]) -> bool:
        self.prepared += 1
        return True

    def doubt(self, real_ip: str) -> str:
        return self.doubts.get(real_ip, "")

    def read(self, real_ip: str) -> Reading:
        self.reads += 1
        if real_ip in self.broken:
            raise Unreadable("the firmware does not answer")
        seconds = self.now_ns // NS
        return Reading("rdma:mlx5_0/1", seconds * 1_000, seconds * 10)

    def pass_s(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now_ns += NS
            self.reporter.measure()


@pytest.mark.parametrize("encoding", ["arrow", "ndjson"])
def test_each_message_holds_the_seconds_of_all_rnics_since_the_last_one(encoding: str) -> None:
    host = Host(encoding)
    host.pass_s(2 * BATCH_S)
    assert len(host.messages.rows) == 2
    second = host.messages.rows[1]
    assert set(zip(second.fabric, second.node_sn, strict=True)) == {("f1", "host-1")}
    assert sorted(set(second.real_ip)) == ["10.0.0.0", "10.0.0.1"]
    assert sorted(set(second.time)) == [(START + BATCH_S + i) * NS for i in range(BATCH_S)]
    assert (second.tx_bytes == 1_000).all()
    assert (second.rx_bytes == 10).all()
    assert len(second.time) == 2 * BATCH_S


def test_a_host_whose_rnics_no_container_uses_reads_and_sends_nothing() -> None:
    host = Host(rnics=0)
    host.pass_s(3 * BATCH_S)
    assert (host.reads, host.messages.rows) == (0, [])


def test_what_was_measured_is_sent_when_the_last_container_has_gone() -> None:
    host = Host()
    host.pass_s(4)
    host.used = JobRnics("f1")
    host.pass_s(BATCH_S)
    assert [len(each.time) for each in host.messages.rows] == [2 * 3]


def test_an_unreadable_rnic_costs_no_other_and_is_logged_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = Host()
    host.broken = {"10.0.0.1"}
    host.pass_s(BATCH_S)
    (rows,) = host.messages.rows
    assert set(rows.real_ip) == {"10.0.0.0"}
    assert host.reporter.counts["unreadable"] == BATCH_S
    host.broken = set()
    host.pass_s(BATCH_S)
    lines = capsys.readouterr().err.splitlines()
    logged = [line for line in lines if "throughput-unreadable" in line]
    assert len(logged) == 1
    assert "rnic=10.0.0.1" in logged[0]
    assert 'why="the firmware does not answer"' in logged[0]
    assert sum("throughput-source" in line for line in lines) == 2, "also when it is back"


def test_counters_are_prepared_once_a_second_and_a_doubt_is_in_the_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = Host()
    host.doubts = {"10.0.0.1": "virtual functions"}
    host.pass_s(3)
    assert host.prepared == 3
    lines = [line for line in capsys.readouterr().err.splitlines() if "-source" in line]
    assert ["level=warning" in line for line in lines] == [False, True]
    assert 'but="virtual functions"' in lines[1]


def test_more_rnics_than_a_message_holds_are_left_out_with_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = Host(rnics=MAX_RNICS + 3)
    host.pass_s(2 * BATCH_S)
    assert max(len(each.time) for each in host.messages.rows) <= MAX_RNICS * BATCH_S
    assert capsys.readouterr().err.count("throughput-left-out rnics=3") == 1


def test_the_thread_measures_and_its_end_publishes_the_rest() -> None:
    host = Host()
    host.pass_s(3)
    host.reporter.start()
    host.reporter.close()
    assert sum(len(each.time) for each in host.messages.rows) == 2 * 2
