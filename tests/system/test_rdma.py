"""RDMA without a NIC: a guest with soft-RoCE devices, and RoCEv2 packets across the fabric."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from builders.agents.rdma_guest import need_guest

from probers.net.packet import KEY_VARIABLE
from probers.rdma.packet import QpAddress, parse_address
from testbed.netns import Fabric, Plan
from testbed.rdma_vm import Guest
from testbed.rdma_vm.attach import attach, configure, launcher
from testbed.rdma_vm.roce import spine_between

pytestmark = [pytest.mark.rdma, pytest.mark.slow]

PROBER = "python3 -m probers.rdma.ping"
KEY = f"{KEY_VARIABLE}=everybody-in-this-test-has-it"
PAIRS = 12  # of queue pairs across the fabric
LINK = ("tor-0", "spine-1")
RIGHT, WRONG = KEY, f"{KEY}-not"


class Responder(NamedTuple):
    """A responder that runs in the guest."""

    guest: Guest
    queue_pairs: list[str]
    gid: str = ""

    def ping(self, *, key: str = RIGHT, count: int = 100, timeout_s: float = 1.0) -> list[Any]:
        """Probe all its queue pairs from rxe0; one result per pair."""
        done = self.guest.run(
            f"{key} {PROBER} ping --device rxe0 {self.gid} --count {count} --timeout {timeout_s} "
            + " ".join(self.queue_pairs),
            within_s=300,
        )
        assert done.code == 0, done.lines
        return [json.loads(line) for line in done.lines]

    def stop(self) -> Any:
        """End it; what it answered and what not."""
        done = self.guest.run(
            "kill $(cat /tmp/pid); until grep answered /tmp/out; do usleep 50000; done"
        )
        return json.loads(done.lines[-1])


def respond(guest: Guest, queue_pairs: int, gid: str = "", asked_with: str = "") -> Responder:
    """Start a responder on rxe1; ``gid`` and ``asked_with`` are options of both ends."""
    done = guest.run(
        "rm -f /tmp/out; "  # of the last run: the shell below could read it before it is replaced
        f"{KEY} {PROBER} respond --device rxe1 {gid} --queue-pairs {queue_pairs} >/tmp/out 2>&1 & "
        "echo $! >/tmp/pid; until [ -s /tmp/out ]; do usleep 50000; done; cat /tmp/out",
        within_s=300,
    )
    assert done.lines[0].startswith("{"), done.lines
    return Responder(guest, json.loads(done.lines[0])["queue_pairs"], asked_with)


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """A guest with two RDMA devices on a cable of their own."""
    need_guest()
    with Guest() as guest:
        assert guest.run("/network pair").code == 0
        yield guest


def sent_frames(guest: Guest) -> int:
    return int(guest.run("cat /sys/class/net/left/statistics/tx_packets").lines[0])


def test_the_first_probe_of_a_machine_that_has_no_neighbours_is_not_lost(guest: Guest) -> None:
    """Its kernel may look for the neighbour for longer than a probe may take."""
    responder = respond(guest, 1)
    guest.run("ip neigh flush all")
    assert guest.run("ip neigh").lines == []
    (result,) = responder.ping(count=20)
    responder.stop()
    assert (result["sent"], result["lost"]) == (20, 0)


def test_the_guest_has_two_rdma_devices(guest: Guest) -> None:
    shown = " ".join(guest.run("rdma link").lines)
    assert "rxe0/1 state ACTIVE" in shown
    assert "rxe1/1 state ACTIVE" in shown


def test_a_reliable_connection_between_them_works(guest: Guest) -> None:
    done = guest.run(
        "ibv_rc_pingpong -d rxe1 -g 1 -n 50 >/dev/null & sleep 1; "
        "ibv_rc_pingpong -d rxe0 -g 1 -n 50 127.0.0.1"
    )
    assert done.code == 0
    assert any(line.startswith("50 iters") for line in done.lines), done.lines


def test_keyed_probes_are_answered_over_the_wire_and_wrongly_keyed_ones_get_silence(
    guest: Guest,
) -> None:
    responder, before = respond(guest, 1), sent_frames(guest)
    (result,) = responder.ping(count=200)
    assert result["src"].startswith("10.0.0.1/")
    assert result["dst"].startswith("10.0.0.2/")
    assert (result["sent"], result["lost"]) == (200, 0)
    assert sent_frames(guest) - before >= 200, "the frames crossed the cable"
    rtt = result["rtt_us"]
    assert 5 < rtt["min"] <= rtt["median"] < 100_000, rtt
    (silence,) = responder.ping(key=WRONG, count=20, timeout_s=0.2)
    assert (silence["sent"], silence["lost"]) == (20, 20)
    assert responder.stop() == {"answered": 200, "silent": {"bad-mac": 20}}


def test_rocev2_over_ipv6_is_answered_over_the_wire(guest: Guest) -> None:
    """Both ends read the other's address from the IPv6 header that arrives before the message."""
    responder, before = respond(guest, 1, "--gid fd00::2"), sent_frames(guest)
    assert responder.queue_pairs[0].startswith("fd00::2/")
    responder.ping(count=5)  # the responder's kernel may look for its neighbour for a second
    (result,) = responder.ping(count=100)
    assert result["src"].startswith("fd00::1/"), "without --gid: the target's IP version"
    assert (result["sent"], result["lost"]) == (100, 0)
    assert result["whole"] > 90
    assert sent_frames(guest) - before >= 100, "the frames crossed the cable"
    (silence,) = responder.ping(key=WRONG, count=10, timeout_s=0.2)
    assert (silence["sent"], silence["lost"]) == (10, 10)
    assert responder.stop()["silent"] == {"bad-mac": 10}


def test_link_local_gids_are_used_when_both_are_named_by_their_entries(guest: Guest) -> None:
    responder = respond(guest, 1, "--gid 0", "--gid 0")
    assert responder.queue_pairs[0].startswith("fe80::")
    (result,) = responder.ping(count=20)
    assert result["src"].startswith("fe80::")
    assert (result["sent"], result["lost"]) == (20, 0)
    responder.stop()


def test_a_target_of_the_other_ip_version_is_one_line(guest: Guest) -> None:
    done = guest.run(f"{KEY} {PROBER} ping --device rxe0 --gid 10.0.0.1 fd00::2/17")
    assert done.code == 3
    (line,) = done.lines
    assert line.startswith("rdma_ping: cannot send to fd00::2/17 from 10.0.0.1/")
    assert line.endswith(": another IP version")


def test_the_six_stamps_of_every_trip_make_sense_together(guest: Guest) -> None:
    responder = respond(guest, 1)
    (result,) = responder.ping(count=200)
    responder.stop()
    assert result["whole"] == result["sent"] - result["lost"] > 190


def test_a_device_that_is_not_there_is_one_line(guest: Guest) -> None:
    done = guest.run(f"{KEY} {PROBER} ping --device rxe9 10.0.0.2/17")
    assert done == (["rdma_ping: no RDMA device 'rxe9'; there is rxe0, rxe1"], 3)


def test_without_any_device_there_is_one_line_too(guest: Guest) -> None:
    """In a network namespace of its own: in exclusive mode it sees no device of others."""
    guest.run("rdma system set netns exclusive")
    done = guest.run(f"unshare -n env {KEY} {PROBER} respond --device rxe0")
    guest.run("rdma system set netns shared")
    assert done.code == 3
    (line,) = done.lines
    assert "this machine has none" in line


# --- across the fabric ---------------------------------------------------------------------------


class Site(NamedTuple):
    """A guest in the place of host-0, whose two NICs hang on two ToRs joined by two spines."""

    fabric: Fabric
    responder: Responder


@pytest.fixture(scope="module", params=[False, True], ids=["ipv4", "ipv6"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    need_guest(fabric=True)
    plan = Plan(hosts=1, nics=2, hosts_per_tor=1, spines=2, ipv6=request.param)
    with Fabric(plan) as fabric:
        rails = attach(fabric, 0)
        with Guest([rail.nic for rail in rails], launch=launcher(fabric, 0)) as guest:
            configure(guest, rails)
            responder = respond(guest, PAIRS)
            responder.ping(count=2)  # both kernels may look for their gateways for a second
            yield Site(fabric, responder)


def crosses(site: Site, result: dict[str, Any], spine: str) -> bool:
    """Whether a pair's questions or answers cross a spine. Over IPv6 the kernel does not say, but
    what pairs lose must show two kinds of them."""
    if site.fabric.plan.ipv6:
        return bool(result["lost"] >= 3)
    ends: tuple[QpAddress, QpAddress] = parse_address(result["src"]), parse_address(result["dst"])
    return spine in {spine_between(site.fabric, *ends), spine_between(site.fabric, *ends[::-1])}


def test_rocev2_crosses_the_fabric_and_nothing_is_lost_while_all_is_well(site: Site) -> None:
    results = site.responder.ping(count=20)
    assert len(results) == PAIRS
    assert sum(result["sent"] for result in results) == 20 * PAIRS
    assert sum(result["lost"] for result in results) <= 1, results


def test_loss_on_one_link_hits_only_queue_pairs_whose_way_or_answer_crosses_it(
    site: Site,
) -> None:
    site.fabric.loss(LINK, 30.0)
    for _ in range(3):  # each run makes new queue pairs; rarely they all share their fate
        results = site.responder.ping(count=40)
        over = [one for one in results if crosses(site, one, LINK[1])]
        around = [one for one in results if one not in over]
        if over and around:
            break
    assert over, "some queue pairs cross the lossy link"
    assert around, "and some do not"
    assert all(one["lost"] >= 3 for one in over), over
    assert all(one["lost"] <= 1 for one in around), around
    assert site.fabric.dropped(LINK) > 20
    site.fabric.heal()
