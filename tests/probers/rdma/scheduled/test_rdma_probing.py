"""RDMA probes that the agent schedules: which, when a loss counts, what a failing device costs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from builders.agents.rdma_hosts import LISTEN_PORT, Fabric, RdmaHost, addresses
from builders.agents.waiting import Until

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key
from probers.probing.traceroute import Trace
from probers.process.loop import Loop
from probers.publishing.record import ping_record
from probers.rdma.packet import ROCE_PORT, source_port

SHORT_S = 0.2  # where a time-out has to pass


@pytest.fixture
def fabric() -> Fabric:
    return Fabric()


Hosts = tuple[RdmaHost, RdmaHost]


@pytest.fixture
def hosts(loop: Loop, key: Key, fabric: Fabric) -> Iterator[Hosts]:
    """A prober and its peer."""
    here, there = (RdmaHost(loop, key, fabric, ip) for ip in addresses())
    yield here, there
    here.end()
    there.end()


@pytest.fixture
def hasty(loop: Loop, key: Key, fabric: Fabric) -> Iterator[Hosts]:
    """The same, where time-outs have to pass; a stalled process may add an error."""
    here, there = (RdmaHost(loop, key, fabric, ip, timeout_s=SHORT_S) for ip in addresses())
    yield here, there
    here.end()
    there.end()


def test_each_own_queue_pair_probes_the_target_over_its_own_five_tuple(
    hosts: Hosts, run_until: Until
) -> None:
    here, there = hosts
    there.probe()
    here.probe(there)
    run_until(lambda: len({burst.flow for burst in here.bursts}) == 2)
    ports = {source_port(address.qpn) for address in here.ports[0].addresses}
    assert {(b.flow.src, b.flow.dst) for b in here.bursts} == {
        ((here.ip, port), (there.ip, ROCE_PORT)) for port in ports
    }
    assert set(here.dials()) == {"success"}
    assert set(here.ports[0].dscps) == {26}, "the list's DSCP"
    assert set(there.ports[0].dscps) == {26}, "also of replies"
    record = ping_record(here.bursts[0], 0.0, "RDMA_PING")
    assert record["task_type"] == "RDMA_PING"
    assert (record["src_idc"], record["dst_node_sn"]) == ("f1", there.ip)
    assert record["dst_port"] == ROCE_PORT
    assert {record["sent"], record["lost"]} == {1, 0}
    assert record["responder_delay_us"] is not None


def test_hosts_with_ipv6_addresses_probe_each_other(
    loop: Loop, key: Key, fabric: Fabric, run_until: Until
) -> None:
    """Loopback has one address of IPv6, so the responders have different ports."""
    here, there = (
        RdmaHost(loop, key, fabric, "::1", listen_port=port) for port in (LISTEN_PORT, 65_313)
    )
    there.probe()
    here.probe(there)
    run_until(lambda: len({burst.flow for burst in here.bursts}) == 2)
    assert set(here.dials()) == {"success"}
    record = ping_record(here.bursts[0], 0.0, "RDMA_PING")
    assert (record["src_ip"], record["dst_ip"], record["dst_port"]) == ("::1", "::1", ROCE_PORT)
    here.end()
    there.end()


def test_a_lost_probe_counts_when_the_peer_still_has_the_queue_pair(
    hasty: Hosts, fabric: Fabric, run_until: Until
) -> None:
    here, there = hasty
    there.probe()
    here.probe(there)
    run_until(lambda: "success" in here.dials())
    fabric.loses.add(packet.PROBE)
    run_until(lambda: "timeout" in here.dials())
    lost = here.bursts[here.dials().index("timeout")]
    assert (lost.sent, lost.lost) == (1, 1)


def test_probes_to_a_queue_pair_of_an_agent_that_was_started_again_are_no_loss(
    hasty: Hosts, fabric: Fabric, run_until: Until
) -> None:
    here, there = hasty
    there.probe()
    here.probe(there)
    run_until(lambda: "success" in here.dials())
    there.end()
    there.start()
    there.probe()
    before = len(here.bursts)
    run_until(lambda: here.dials()[before:].count("success") > 2)
    assert set(here.dials()[before:]) == {"error", "success"}
    assert not any(burst.lost for burst in here.bursts)
    assert here.rdma.bursts.withdrawn >= 1


def test_a_peer_whose_agent_has_ended_refuses(hasty: Hosts, run_until: Until) -> None:
    """Its kernel says so over UDP: the network works."""
    here, there = hasty
    there.probe()
    here.probe(there)
    run_until(lambda: "success" in here.dials())
    there.end()
    run_until(lambda: "refused" in here.dials())
    assert "timeout" not in here.dials()


def test_a_peer_without_a_device_is_not_probed_and_not_blamed(
    hosts: Hosts, run_until: Until
) -> None:
    here, there = hosts
    there.lacks = "no device"
    there.probe()
    here.probe(there)
    run_until(lambda: there.responder.answered > 3)
    assert here.bursts == []


def test_a_device_that_fails_is_opened_again_and_what_was_in_flight_is_no_loss(
    hosts: Hosts, fabric: Fabric, run_until: Until
) -> None:
    here, there = hosts
    changes: list[bool] = []
    here.rdma.on_change = lambda: changes.append(True)
    there.probe()
    here.probe(there)
    run_until(lambda: "success" in here.dials())
    fabric.loses.add(packet.PROBE)
    sent = here.rdma.bursts.sent[here.ip]
    run_until(lambda: here.rdma.bursts.sent[here.ip] > sent)
    here.ports[0].fail()
    run_until(lambda: here.ports[0].closed)
    assert {burst.dial for burst in here.bursts} == {"success", "error"}
    assert "completion channel failed" in here.rdma.rnics.unopened[here.ip]
    fabric.loses.clear()

    def opened_again() -> bool:
        here.rdma.tick()
        return len(here.ports) == 2

    run_until(opened_again)
    assert changes == [True]
    assert here.rdma.rnics.unopened == {}
    before = len(here.bursts)
    here.probe(there)
    run_until(lambda: "success" in here.dials()[before:])


def test_a_list_without_a_target_stops_the_probes_but_not_the_answers(
    hosts: Hosts, run_until: Until
) -> None:
    here, there = hosts
    there.probe(here)
    here.probe(there)
    run_until(lambda: "success" in here.dials() and "success" in there.dials())
    there.rdma.stop()
    before = len(here.bursts), there.rdma.bursts.sent[there.ip]
    run_until(lambda: len(here.bursts) > before[0] + 5)
    assert set(here.dials()) == {"success"}
    assert there.rdma.bursts.sent[there.ip] == before[1]


def test_rdma_probes_spend_the_agent_s_rate(
    loop: Loop, key: Key, fabric: Fabric, run_until: Until
) -> None:
    here, there = (RdmaHost(loop, key, fabric, ip, max_rate=1.0) for ip in addresses())
    there.probe()
    here.probe(there, interval_s=0.01)
    run_until(lambda: here.sockets.counts["over-budget"] > 10)
    assert here.rdma.bursts.sent[here.ip] <= 40, "32 at once, and one a second"
    here.end()
    there.end()


# --- routes --------------------------------------------------------------------------------------


def traced(here: RdmaHost, there: RdmaHost) -> Trace:
    """What the tracer shows: two routers, then silence."""
    flow = next(each for each in here.rdma.flows if each.dst[0] == there.ip)
    return Trace(flow, 1, 1, ["10.9.0.1", "10.9.0.2", None], "timeout")


def test_a_probe_with_a_hop_limit_completes_the_route_of_its_five_tuple(
    hosts: Hosts, fabric: Fabric, run_until: Until
) -> None:
    here, there = hosts
    fabric.hops = 2
    there.probe(here)
    here.probe(there)
    run_until(lambda: "success" in here.dials() and len(there.bursts) > 5)
    here.rdma.complete(traced(here, there), here.traces.append)
    run_until(lambda: len(here.traces) >= 2)
    whole, of_replies = here.traces
    assert (whole.hops, whole.dial) == (["10.9.0.1", "10.9.0.2"], "success")
    own = here.ports[0].addresses[0]
    asked_by = there.ports[0].addresses[0]
    assert of_replies.hops == whole.hops
    assert (of_replies.flow.src, of_replies.flow.dst) == (
        (here.ip, ROCE_PORT), (there.ip, source_port(asked_by.qpn)),
    ), "the probe's five-tuple with both ends swapped"  # fmt: skip
    assert whole.flow.src == (here.ip, source_port(own.qpn))


def test_a_five_tuple_is_traced_once_its_peer_s_queue_pair_is_known_and_again_when_it_answers(
    hosts: Hosts, run_until: Until
) -> None:
    here, there = hosts
    there.probe()
    here.probe(there)
    assert here.rdma.untraced(99) == []
    assert not here.rdma.traceable(here.rdma.flows[0])
    run_until(lambda: len({burst.flow for burst in here.bursts}) == 2)
    (first,) = here.rdma.untraced(1)
    assert {first, *here.rdma.untraced(99)} == set(here.rdma.flows)
    assert here.rdma.untraced(99) == [], "the schedule repeats them"
    there.probe(here)
    run_until(lambda: len({burst.flow for burst in there.bursts}) == 2)
    assert set(here.rdma.untraced(99)) == set(here.rdma.flows), "replies have routes too"
    assert here.rdma.untraced(99) == []


@pytest.mark.parametrize("hops", [3, 9])
def test_a_route_that_ends_before_the_destination_stays_incomplete(
    hasty: Hosts, fabric: Fabric, run_until: Until, hops: int
) -> None:
    here, there = hasty
    there.probe()
    here.probe(there)
    run_until(lambda: "success" in here.dials())
    fabric.hops = hops
    here.rdma.complete(traced(here, there), here.traces.append)
    run_until(lambda: bool(here.traces))
    assert here.traces[0].hops[-1] is None
    assert here.traces[0].dial == "timeout"


def test_a_traceroute_of_another_five_tuple_is_passed_on_as_it_is(hosts: Hosts) -> None:
    here, _ = hosts
    trace = Trace(FiveTuple((here.ip, 50_000), ("10.9.9.9", 65_300)), hops=[None], dial="timeout")
    here.rdma.complete(trace, here.traces.append)
    assert here.traces == [trace]
