"""What disturbs the messages of agents changes what it says, and nothing else."""

from __future__ import annotations

import pyarrow as pa
import pytest

from evaluation.chaos import load
from evaluation.chaos.load import SECOND_NS, Outgoing
from schemas import topics
from schemas.wire import codecs
from schemas.wire.decoded import CodecError
from testbed.scenarios import scenario

START_NS = 1_780_000_000 * SECOND_NS


@pytest.fixture(scope="module")
def messages() -> list[Outgoing]:
    simulation = scenario.load("small").simulation(seed=1, start_ns=START_NS)
    return load.load([*simulation.seconds(12)])


def pings(messages: list[Outgoing]) -> list[Outgoing]:
    return [each for each in messages if each.topic == topics.PINGS.name]


def second(message: Outgoing) -> float:
    return (message.publish_ns - START_NS) / SECOND_NS


def times(message: Outgoing) -> list[int]:
    found: list[int] = pa.ipc.open_stream(message.value).read_all()["ping_time"].to_pylist()
    return found


def test_a_load_is_in_order_and_counts_its_records(messages: list[Outgoing]) -> None:
    assert messages == load.in_order(messages)
    rows = sum(pa.ipc.open_stream(each.value).read_all().num_rows for each in pings(messages))
    assert load.records(messages) == rows > 1000


def test_poison_leaves_the_good_messages_and_adds_as_many_unreadable_ones(
    messages: list[Outgoing],
) -> None:
    found = load.poison(0.5, at_s=4, for_s=4)(messages, START_NS)
    bad = [each for each in pings(found) if not each.records]
    assert [each for each in found if each not in bad] == messages
    assert {4 <= second(each) < 8 for each in bad} == {True}
    assert len(bad) == sum(4 <= second(each) < 8 for each in pings(messages))
    for each in bad:
        with pytest.raises(CodecError):
            codecs.decode(each.value, topics.ARROW)


def test_a_wrong_clock_moves_the_times_of_one_host_from_then_on(messages: list[Outgoing]) -> None:
    found = load.wrong_clock(3600, at_s=5)(messages, START_NS)
    moved = [(a, b) for a, b in zip(messages, found, strict=True) if a.value != b.value]
    assert len({before.node_sn for before, _ in moved}) == 1
    assert min(second(before) for before, _ in moved) >= 5
    for before, after in moved:
        assert before._replace(value=b"") == after._replace(value=b"")
        assert times(after) == [each + 3600 * SECOND_NS for each in times(before)]


def test_a_backlog_is_published_when_it_is_over_and_in_its_order(messages: list[Outgoing]) -> None:
    found = load.backlog(at_s=4, for_s=5)(messages, START_NS)
    assert not [each for each in found if 4 <= second(each) < 9]
    assert [each.value for each in found] == [each.value for each in messages]


def test_half_of_the_hosts_are_cut_off_and_the_others_are_not(messages: list[Outgoing]) -> None:
    found = load.cut_off(0.5, at_s=4, for_s=5)(messages, START_NS)
    during = {each.node_sn for each in found if 4 <= second(each) < 9}
    hosts = {each.node_sn for each in messages}
    assert during < hosts
    assert len(during) == len(hosts) / 2
    assert sorted(each.value for each in found) == sorted(each.value for each in messages)


def test_a_twin_repeats_the_messages_of_one_host(messages: list[Outgoing]) -> None:
    found = load.twin(at_s=4, for_s=4)(messages, START_NS)
    more = [each for each in set(found) if found.count(each) == 2]
    assert len(found) == len(messages) + len(more)
    assert len({each.node_sn for each in more}) == 1


def test_a_burst_adds_other_fabrics(messages: list[Outgoing]) -> None:
    found = load.burst(2, at_s=4, for_s=3)(messages, START_NS)
    more = [each for each in pings(found) if each not in messages]
    fabrics = {
        name
        for each in more
        for name in pa.ipc.open_stream(each.value).read_all()["src_idc"].to_pylist()
    }
    assert fabrics == {"burst-0", "burst-1"}
    assert {4 <= second(each) < 9 for each in more} == {True}
