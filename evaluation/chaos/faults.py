"""The faults, as data: what happens to the pipeline, when, and what may be lost by it.

Times are seconds of the simulated cluster, as they pass on the clock; its network fault begins at
40 and ends at 70. A step that names no process is about the broker or the store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from evaluation.chaos import load
from evaluation.chaos.site.pipeline import Pipeline, Release, SmallDisks
from schemas import topics
from testbed.services import memory_limit, small_disk

BEGIN_S: Final = 46
#: The first seconds are published at once: detectors need a past [s].
LEAD_S: Final = 34
_SKEWED_CLOCK: Final = "evaluation.chaos.skewed_clock"


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens at a second; it returns when it has happened."""

    at_s: int
    act: Callable[[Pipeline], object]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and its end, which is the last step.

    text       for the table
    workers    that share the partitions; named: with a name in the group (SKH_INSTANCE)
    brokers    of the cluster, each with a copy of everything
    small_disk whose data are on a file system of their own, which is filled
    large      a cluster of 64 hosts with 7,400 records/s instead of 260
    history_s  measured before the steps' time begins, and published at once
    written_s  all of it happened so long ago; the broker has it with the time stamps of then
    disturb    what agents publish instead
    usable     what the run without any broker is given; None: what they would have published
    late       records may be late, and are counted
    duplicate  records arrive twice, and are counted
    overtaken  retention deletes messages that were not read; incidents may differ
    fast       part of the tests
    replicas   two APIs and two controllers run too, and are called
    before     of the releases ``play`` is given, which one runs at first
    needs      why it cannot be tried here, or None
    """

    name: str
    text: str
    steps: tuple[Step, ...]
    workers: int = 1
    named: bool = False
    brokers: int = 1
    small_disk: SmallDisks = None
    large: bool = False
    history_s: int = 0
    written_s: int = 0
    disturb: load.Disturb | None = None
    usable: load.Disturb | None = None
    late: bool = False
    duplicate: bool = False
    overtaken: bool = False
    fast: bool = False
    replicas: bool = False
    before: Release = "this"
    needs: Callable[[], str | None] = lambda: None

    @property
    def ends_s(self) -> int:
        """When the last step happens [s]."""
        return self.steps[-1].at_s


def _at(at_s: int, act: Callable[[Pipeline], object]) -> Step:
    return Step(at_s, act)


def _nothing(_: Pipeline) -> None:
    """The end of what ``disturb`` does."""


def _step_of_the_clock(pipeline: Pipeline, offset_s: int) -> None:
    pipeline.workers.pop().kill()
    pipeline.start_worker(_SKEWED_CLOCK, str(offset_s))


def _clean_store(pipeline: Pipeline) -> None:
    pipeline.store_faults()


def _roll(release: Release) -> tuple[Step, ...]:
    """Everything is restarted, one process after another, readers before writers."""
    return (
        Step(41, lambda pipeline: pipeline.go_to(release)),
        Step(42, Pipeline.roll_sink),
        Step(43, Pipeline.roll_api),
        Step(44, Pipeline.roll_api),
        Step(47, Pipeline.roll_worker),
        Step(57, Pipeline.roll_worker),
        Step(60, Pipeline.roll_controller),
        Step(61, Pipeline.roll_controller),
    )


def _broker_replaced(number: int, at_s: int) -> tuple[Step, Step]:
    return (
        _at(at_s, lambda p: p.brokers.all[number].kill()),
        _at(at_s, lambda p: p.brokers.all[number].start()),
    )


def _restart_store(pipeline: Pipeline) -> None:
    if pipeline.store.running:
        pipeline.store.kill()
    pipeline.start_store()


FAULTS: Final = (
    Fault(
        "none", "nothing: the comparison with the reference", (_at(BEGIN_S, _nothing),),
    ),
    Fault(
        "worker-killed", "the only worker killed (SIGKILL) 4 times in mid-window, started at once",
        tuple(_at(at, Pipeline.replace_worker) for at in (43, 51, 59, 67)), fast=True,
    ),
    Fault(
        "worker-killed-20", "the only worker killed (SIGKILL) 20 times, each 3 s, started at once",
        tuple(_at(at, Pipeline.replace_worker) for at in range(41, 101, 3)),
    ),
    Fault(
        "worker-memory", "the only worker ended by the kernel at its memory limit, 3 times",
        tuple(_at(at, Pipeline.exhaust_memory) for at in (43, 53, 63)),
        needs=memory_limit.missing,
    ),
    Fault(
        "worker-stopped", "the only worker stopped (SIGSTOP) for 30 s",
        (_at(BEGIN_S, lambda p: p.workers[0].pause()),
         _at(BEGIN_S + 30, lambda p: p.workers[0].resume())),
    ),
    Fault(
        "worker-stopped-5-min", "the only worker stopped (SIGSTOP) for 5 min, then the backlog",
        (_at(BEGIN_S, lambda p: p.workers[0].pause()),
         _at(BEGIN_S + 300, lambda p: p.workers[0].resume())),
    ),
    Fault(
        "worker-away-10-min", "no worker for 10 min, then the backlog",
        (_at(600 + LEAD_S + 10, Pipeline.start_worker),), workers=0, written_s=600,
    ),
    Fault(
        "worker-away-60-min", "no worker for 60 min, then the backlog",
        (_at(3600 + LEAD_S + 60, Pipeline.start_worker),), workers=0, written_s=3600,
    ),
    Fault(
        "rebalances", "4 workers; one killed and replaced each 6 s, 5 times",
        tuple(_at(at, Pipeline.replace_worker) for at in range(43, 73, 6)), workers=4,
    ),
    Fault(
        "broker-killed", "the broker killed (SIGKILL) and started again",
        (_at(BEGIN_S, lambda p: p.brokers.first.kill()),
         _at(BEGIN_S, lambda p: p.brokers.first.start())),
        late=True, fast=True,
    ),
    Fault(
        "broker-away", "the broker away for 75 s; agents hold what they measure",
        (_at(BEGIN_S, lambda p: p.brokers.first.stop()),
         _at(BEGIN_S + 75, lambda p: p.brokers.first.start())),
        late=True,
    ),
    Fault(
        "broker-away-5-min", "the broker away for 5 min; agents hold what they measure",
        (_at(BEGIN_S, lambda p: p.brokers.first.stop()),
         _at(BEGIN_S + 300, lambda p: p.brokers.first.start())),
        late=True,
    ),
    Fault(
        "broker-stopped", "the broker hangs (SIGSTOP) for 20 s",
        (_at(BEGIN_S, lambda p: p.brokers.first.pause()),
         _at(BEGIN_S + 20, lambda p: p.brokers.first.resume())),
        late=True,
    ),
    Fault(
        "broker-full", "the broker's disk full for 20 s",
        (_at(BEGIN_S, Pipeline.fill_disk), _at(BEGIN_S + 20, Pipeline.free_disk)),
        small_disk="broker", late=True, needs=small_disk.missing,
    ),
    Fault(
        "leader-change", "3 brokers; the leader of skh.pings killed (SIGKILL), away for 20 s",
        (_at(BEGIN_S, lambda p: p.brokers.kill_leader()),
         _at(BEGIN_S + 20, lambda p: p.brokers.restart())),
        brokers=3, late=True, fast=True,
    ),
    Fault(
        "brokers-in-turn", "3 brokers; each killed (SIGKILL) and started again, one after another",
        tuple(step for number in range(3) for step in _broker_replaced(number, 43 + 12 * number)),
        brokers=3, late=True,
    ),
    Fault(
        "store-away", "ClickHouse killed in mid-batch, away for 20 s",
        (_at(BEGIN_S, lambda p: p.store_faults(die_after=2)), _at(BEGIN_S + 20, _restart_store)),
        fast=True,
    ),
    Fault(
        "store-away-10-min", "ClickHouse killed in mid-batch, away for 10 min",
        (_at(BEGIN_S, lambda p: p.store_faults(die_after=2)), _at(BEGIN_S + 600, _restart_store)),
    ),
    Fault(
        "store-slow", "ClickHouse needs 5 s for an insert, for 30 s",
        (_at(BEGIN_S, lambda p: p.store_faults(slow_s=5)), _at(BEGIN_S + 30, _clean_store)),
    ),
    Fault(
        "store-read-only", "ClickHouse read-only for 20 s",
        (_at(BEGIN_S, lambda p: p.store_faults(read_only=True)), _at(BEGIN_S + 20, _clean_store)),
    ),
    Fault(
        "store-full", "ClickHouse's disk full for 20 s",
        (_at(BEGIN_S, Pipeline.fill_disk), _at(BEGIN_S + 20, Pipeline.free_disk)),
        small_disk="store", needs=small_disk.missing,
    ),
    Fault(
        "store-stopped", "ClickHouse hangs (SIGSTOP) for 20 s",
        (_at(BEGIN_S, lambda p: p.store.pause()), _at(BEGIN_S + 20, lambda p: p.store.resume())),
    ),
    Fault(
        "sink-killed", "the sink killed (SIGKILL) 3 times, started at once",
        tuple(_at(at, Pipeline.replace_sink) for at in (43, 50, 57)),
    ),
    Fault(
        "rolling-upgrade", "sink, 2 APIs, 2 workers, 2 controllers restarted (SIGTERM) one by "
        "one, from the other release to this one", _roll("this"), workers=2, named=True,
        replicas=True, before="other", fast=True,
    ),
    Fault(
        "rolling-back", "the same from this release to the other one",
        _roll("other"), workers=2, named=True, replicas=True,
    ),
    Fault(
        "retention", "the worker away for 15 s; retention deletes what it has not read",
        (_at(BEGIN_S, lambda p: p.workers.pop().kill()),
         _at(BEGIN_S + 15, lambda p: p.brokers.delete_unread(topics.PINGS)),
         _at(BEGIN_S + 15, Pipeline.start_worker)),
        overtaken=True,
    ),
    Fault(
        "poison", "half of all messages unreadable, for 20 s",
        (_at(BEGIN_S + 20, _nothing),), disturb=load.poison(0.5, BEGIN_S, 20), fast=True,
    ),
    Fault(
        "burst", "10 times as many records for 15 s, of nine more fabrics",
        (_at(BEGIN_S + 15, _nothing),), disturb=load.burst(9, BEGIN_S, 15),
    ),
    Fault(
        "burst-5-min", "10 times as many records for 5 min, of nine more fabrics",
        (_at(BEGIN_S + 300, _nothing),), disturb=load.burst(9, BEGIN_S, 300),
    ),
    Fault(
        "backlog", "agents cannot publish for 20 s, then all at once",
        (_at(BEGIN_S + 20, _nothing),), disturb=load.backlog(BEGIN_S, 20),
    ),
    Fault(
        "site-partition", "half of the hosts cannot publish for 20 s, then all at once",
        (_at(BEGIN_S + 20, _nothing),), disturb=load.cut_off(0.5, BEGIN_S, 20), late=True,
    ),
    Fault(
        "clock-of-a-host-ahead", "the clock of one host steps by +1 h",
        (_at(BEGIN_S, _nothing),), disturb=load.wrong_clock(3600, BEGIN_S),
        usable=load.wrong_clock(3600, BEGIN_S), late=True,
    ),
    Fault(
        "clock-of-a-host-behind", "the clock of one host steps by -1 h",
        (_at(BEGIN_S, _nothing),), disturb=load.wrong_clock(-3600, BEGIN_S),
        usable=load.wrong_clock(-3600, BEGIN_S), late=True,
    ),
    Fault(
        "clock-of-the-worker-ahead", "a worker whose clock is 1 h ahead takes over",
        (_at(BEGIN_S, lambda p: _step_of_the_clock(p, 3600)),),
    ),
    Fault(
        "clock-of-the-worker-behind", "a worker whose clock is 1 h behind takes over",
        (_at(BEGIN_S, lambda p: _step_of_the_clock(p, -3600)),),
    ),
    Fault(
        "twin", "two agents with one identity for 20 s, with the same measurements",
        (_at(BEGIN_S + 20, _nothing),), disturb=load.twin(BEGIN_S, 20), duplicate=True,
    ),
    Fault(
        "fail-over", "the only worker killed 1 s into the network fault, started at once",
        (_at(41, Pipeline.replace_worker),),
    ),
    Fault(
        "fail-over-named", "the same, and the worker has a name in its group",
        (_at(41, Pipeline.replace_worker),), named=True,
    ),
    Fault(
        "fail-over-loaded", "the only worker killed 1 s into the network fault at 7,400 records/s",
        (_at(41, Pipeline.replace_worker),), large=True, history_s=300,
    ),
    Fault(
        "fail-over-loaded-named", "the same at 7,400 records/s, and the worker has a name",
        (_at(41, Pipeline.replace_worker),), named=True, large=True, history_s=300,
    ),
)  # fmt: skip
