"""The RDMA engine without a device: stamps, addresses, and probes over a wire of our own."""

from __future__ import annotations

import json
import struct
import sys
from collections import deque
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probers.agent import main
from probers.net import packet
from probers.net.packet import KEY_VARIABLE, Key
from probers.net.responder import Responder
from probers.rdma import ping
from probers.rdma.engine import Arrived, RdmaProber, RdmaResponder, Sent
from probers.rdma.packet import (
    GRH_BYTES,
    QpAddress,
    RdmaRoundTrip,
    Stamps,
    ip_of_gid,
    parse_address,
    round_trip,
    source_ip,
)
from probers.rdma.verbs import RdmaError, VerbsPort

WALL = 1_700_000_000 * 10**9
TIMES = st.integers(min_value=0, max_value=10**9)


# --- the six stamps ------------------------------------------------------------------------------


def test_the_round_trip_is_what_neither_host_spent() -> None:
    #       t1   t2     t3      t4      t5      t6
    seen = Stamps(0, 4_000, 70_000, 79_000, 24_000, 30_000)
    assert seen.rtt == (24_000 - 4_000) - (79_000 - 70_000) == 11_000
    assert round_trip(seen) == RdmaRoundTrip(
        rtt_us=11.0, prober_us=10.0, responder_us=9.0, consistent=True
    )


@given(st.lists(TIMES, min_size=5, max_size=5), st.integers(-(10**15), 10**15))
def test_the_clocks_difference_does_not_matter_and_nothing_is_lost(
    steps: list[int], skew: int
) -> None:
    """The prober's and the responder's share and the network's make up all the time that passed."""
    posting, out, answering, back, noticing = steps
    t2, t3 = posting, posting + out
    t4, t5 = t3 + answering, t3 + answering + back
    seen = Stamps(0, t2, t3 + skew, t4 + skew, t5, t5 + noticing)
    assert seen.rtt == out + back
    assert seen.rtt + seen.prober_delay + seen.responder_delay == seen.t6 - seen.t1


@pytest.mark.parametrize(
    "contradicting",
    [
        Stamps(0, 25_000, 70_000, 79_000, 24_000, 30_000),  # asked after the answer
        Stamps(0, 4_000, 70_000, 99_000, 24_000, 30_000),  # answering took longer than everything
        Stamps(0, 4_000, 79_000, 70_000, 24_000, 30_000),  # answered before it arrived
    ],
)
def test_stamps_that_contradict_each_other_give_all_the_time_that_passed(
    contradicting: Stamps,
) -> None:
    assert round_trip(contradicting) == RdmaRoundTrip(30.0, None, None, consistent=False)


# --- addresses -----------------------------------------------------------------------------------


def test_an_address_is_read_as_it_is_written_and_maps_to_its_gid_and_back() -> None:
    address = parse_address("10.0.0.2/17")
    assert address == QpAddress("10.0.0.2", 17)
    assert str(address) == "10.0.0.2/17"
    assert address.gid == "0000:0000:0000:0000:0000:ffff:0a00:0002"
    assert ip_of_gid(address.gid) == "10.0.0.2"


def test_a_link_local_gid_is_nobodys_ipv4_address() -> None:
    assert ip_of_gid("fe80:0000:0000:0000:5054:00ff:fe12:3456") is None


@pytest.mark.parametrize("text", ["10.0.0.2", "10.0.0.2/", "10.0.0.2/0", "host/17", "10.0.0.2/1x",
                                  f"10.0.0.2/{2**24}"])  # fmt: skip
def test_a_wrong_address_is_named_with_a_right_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"give ADDRESS/QPN such as 10\.0\.0\.2/17") as caught:
        parse_address(text)
    assert repr(text) in str(caught.value)


def test_the_sender_is_read_from_the_ip_header_in_front_of_the_message() -> None:
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 132, 0, 0, 64, 17, 0,
                         bytes([10, 1, 0, 1]), bytes([10, 1, 1, 1]))  # fmt: skip
    assert source_ip(bytes(20) + header + b"payload") == "10.1.0.1"
    assert source_ip(bytes([0x60]) + bytes(GRH_BYTES - 1)) is None, "an IPv6 header fills all 40"
    assert source_ip(b"") is None


# --- probes over a wire of our own ---------------------------------------------------------------


class Clock:
    """Time passes when somebody looks, for both ends; their monotonic clocks are apart."""

    now = 0

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def mono(self) -> int:
        Clock.now += 1_000
        return Clock.now + self._offset

    def wall(self) -> int:
        return WALL + Clock.now


class Cable:
    """One of two ports; what one sends, the other gets, unless ``loses`` says no. A message takes
    20 us to leave and 50 us to arrive."""

    def __init__(self, clock: Clock, addresses: Sequence[QpAddress]) -> None:
        self.addresses, self.clock = addresses, clock
        self._events: deque[Sent | Arrived] = deque()
        self.other: Cable
        self.loses: set[int] = set()  # kinds
        self.count = 0
        self.prepared: set[QpAddress] = set()
        self.completes_sends = True

    def prepare(self, to: QpAddress) -> None:
        if to not in self.prepared:
            Clock.now += 1_100_000_000  # so long a kernel may look for a neighbour
            self.prepared.add(to)

    def send(self, own: int, to: QpAddress, payload: bytes) -> int:
        self.count += 1
        Clock.now += 20_000
        if self.completes_sends:
            self._events.append(Sent(self.count, self.clock.mono()))
        if payload[5] not in self.loses:
            Clock.now += 50_000
            receiver = self.other.addresses.index(to)
            self.other.deliver(self.addresses[own], receiver, payload)
        return self.count

    def deliver(self, peer: QpAddress, own: int, payload: bytes) -> None:
        self._events.append(Arrived(peer, own, payload, self.clock.mono()))

    def poll(self) -> Sent | Arrived | None:
        return self._events.popleft() if self._events else None

    def close(self) -> None:
        """Nothing to release."""


class Pair:
    """A prober and a responder whose clocks are an hour apart, joined by a cable."""

    def __init__(self, asked_with: Key, answered_with: Key) -> None:
        here, there = Clock(0), Clock(3600 * 10**9)
        self.near = Cable(here, [QpAddress("10.0.0.1", 17), QpAddress("10.0.0.1", 18)])
        self.far = Cable(there, [QpAddress("10.0.0.2", 2**24 - 1)])
        self.near.other, self.far.other = self.far, self.near
        self.admission = Responder(answered_with)
        self.prober = RdmaProber(asked_with, self.near, now=here.mono, wall=here.wall)
        self.responder = RdmaResponder(
            answered_with, self.far, self.admission, now=there.mono, wall=there.wall
        )

    @property
    def target(self) -> QpAddress:
        return self.far.addresses[0]

    def settle(self) -> None:
        while self.prober.poll() or self.responder.poll():
            pass

    def time_out(self) -> None:
        Clock.now += 10**9
        self.prober.poll()


@pytest.fixture
def pair(key: Key) -> Pair:
    return Pair(key, key)


def test_a_keyed_probe_is_answered_and_measured(pair: Pair) -> None:
    pair.prober.probe(0, pair.target)
    assert pair.prober.waiting(0, pair.target)
    pair.settle()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.sent, counts.lost, len(counts.round_trips)) == (1, 0, 1)
    assert not pair.prober.waiting(0, pair.target)
    (measured,) = counts.round_trips
    assert measured.consistent
    assert 100 <= measured.rtt_us <= 110, "50 us each way, and some looks at the clock"
    assert measured.responder_us is not None
    assert 20 <= measured.responder_us <= 30, "the follow-up tells when the answer really left"


def test_the_time_to_find_a_host_is_not_the_probes(pair: Pair) -> None:
    """It is more than the probe's own."""
    pair.prober.probe(0, pair.target)
    pair.settle()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.sent, counts.lost) == (1, 0)
    assert counts.round_trips[0].prober_us is not None
    assert counts.round_trips[0].prober_us < 1_000


def test_a_probe_whose_send_completion_is_missing_left_when_it_was_asked(pair: Pair) -> None:
    pair.near.completes_sends = False
    pair.prober.probe(0, pair.target)
    pair.settle()
    (counts,) = pair.prober.counts_by_pair.values()
    assert counts.round_trips[0].consistent
    assert 120 <= counts.round_trips[0].rtt_us <= 130, "50 us each way, and 20 us to leave"


def test_each_own_queue_pair_has_a_counts_of_its_own(pair: Pair) -> None:
    for own in (0, 1, 1):
        pair.prober.probe(own, pair.target)
        pair.settle()
    assert {str(t.own): t.sent for t in pair.prober.counts_by_pair.values()} == {
        "10.0.0.1/17": 1,
        "10.0.0.1/18": 2,
    }


def test_a_wrong_key_gets_silence_and_is_counted_by_the_responder(key: Key) -> None:
    pair = Pair(Key(b"somebody else's key"), key)
    pair.prober.probe(0, pair.target)
    pair.settle()
    pair.time_out()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.sent, counts.lost) == (1, 1)
    assert pair.admission.silent == {"bad-mac": 1}
    assert pair.far.count == 0, "not a single message back"


@pytest.mark.parametrize(("kind", "by"), [(packet.PROBE, "near"), (packet.REPLY, "far")])
def test_a_lost_question_or_answer_is_a_lost_probe(pair: Pair, kind: int, by: str) -> None:
    getattr(pair, by).loses.add(kind)
    pair.prober.probe(0, pair.target)
    pair.settle()
    assert pair.prober.in_flight == 1
    pair.time_out()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.sent, counts.lost, pair.prober.in_flight) == (1, 1, 0)


def test_a_lost_follow_up_is_not_a_lost_probe(pair: Pair) -> None:
    pair.far.loses.add(packet.FOLLOW_UP)
    pair.prober.probe(0, pair.target)
    pair.settle()
    pair.time_out()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.lost, len(counts.round_trips)) == (0, 1)


def test_neither_answers_nor_follow_ups_are_answered(key: Key, pair: Pair) -> None:
    own = pair.near.addresses[0]
    for kind in (packet.REPLY, packet.FOLLOW_UP):
        said = packet.Packet(kind, 1, 0, WALL, 7)
        pair.near.send(0, pair.target, packet.pack(key, said, own, pair.target))
    pair.settle()
    assert pair.far.count == 0


@pytest.mark.parametrize("change", ["key", "nonce", "sequence", "garbage", "from elsewhere"])
def test_a_strangers_answer_is_no_answer(key: Key, pair: Pair, change: str) -> None:
    pair.prober.probe(0, pair.target)
    event = pair.far.poll()
    assert isinstance(event, Arrived)
    question = packet.unpack(event.payload)
    reply = packet.reply_to(question, WALL, WALL)
    own, peer = pair.near.addresses[0], pair.target
    if change == "nonce":
        reply = reply._replace(nonce=reply.nonce ^ 1)
    elif change == "sequence":
        reply = reply._replace(sequence=reply.sequence + 1)
    signed = Key(b"somebody else's key") if change == "key" else key
    if change == "from elsewhere":
        pair.far.addresses = [QpAddress("10.0.0.3", 17)]
    payload = b"x" * 72 if change == "garbage" else packet.pack(signed, reply, peer, own)
    pair.far.send(0, own, payload)
    while pair.prober.poll():
        pass
    assert pair.prober.unmatched == 1
    assert pair.prober.in_flight == 1


# --- without a device ----------------------------------------------------------------------------


@pytest.fixture
def no_pyverbs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyverbs", None)
    monkeypatch.setenv(KEY_VARIABLE, "a key for the tests only")


AGENT = ["--ping-list", "x.json", "--publish", "file:x", "--node-sn", "h", "--engine", "rdma"]


@pytest.mark.usefixtures("no_pyverbs")
@pytest.mark.parametrize(
    "command",
    [
        lambda: ping.main(["ping", "--device", "rxe0", "10.0.0.2/17"]),
        lambda: main.main(AGENT),
    ],
)
def test_without_pyverbs_there_is_one_line_that_says_what_to_install(
    command: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(command)
    assert command() == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "RDMA_PING needs pyverbs" in line
    assert "apt install python3-pyverbs" in line


class PyverbsError(Exception):
    """pyverbs' own error."""


class Named(NamedTuple):
    name: bytes


def install_pyverbs(
    monkeypatch: pytest.MonkeyPatch, devices: Sequence[str], complaint: str | None = None
) -> None:
    """A pyverbs that lists these devices, or cannot list any."""

    def get_device_list() -> list[Named]:
        if complaint:
            raise PyverbsError(complaint)
        return [Named(name.encode()) for name in devices]

    for part in ("device", "pyverbs_error", "enums", "addr", "wr"):
        module = ModuleType(f"pyverbs.{part}")
        monkeypatch.setitem(sys.modules, f"pyverbs.{part}", module)
        vars(module).update(get_device_list=get_device_list, PyverbsError=PyverbsError)
    monkeypatch.setenv(KEY_VARIABLE, "a key for the tests only")


@pytest.mark.parametrize("complaint", [None, "Failed to get devices list"])
def test_without_a_device_an_agent_asked_for_rdma_says_so_in_one_line(
    complaint: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_pyverbs(monkeypatch, [], complaint)
    assert main.main(AGENT) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "needs an RDMA device and this machine has none" in line
    assert "probe with UDP_PING" in line


def test_an_agent_with_a_device_does_not_pretend_to_probe_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_pyverbs(monkeypatch, ["rxe0"])
    assert main.main(AGENT) == 2
    assert "not scheduled by the agent yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ping", "--device", "rxe0", "10.0.0.2"], "has no queue pair number"),
        (["ping", "--device", "rxe0", "--count", "0", "10.0.0.2/17"], "not between 1 and"),
        (["respond"], "--device"),
    ],
)
def test_wrong_usage_is_said(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        ping.main(arguments)
    assert caught.value.code == 2
    assert complaint in capsys.readouterr().err


def test_without_a_key_nothing_is_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert ping.main(["respond", "--device", "rxe0"]) == 2
    assert f"variable {KEY_VARIABLE}" in capsys.readouterr().err


def test_the_command_prints_one_json_line_per_target_with_loss_and_round_trips(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The device is the cable, whose other end replies whenever it is polled."""
    calls: list[str] = []

    class Device:
        addresses = pair.near.addresses

        def prepare(self, to: QpAddress) -> None:
            calls.append("prepare")

        def send(self, own: int, to: QpAddress, payload: bytes) -> int:
            calls.append("send")
            return pair.near.send(own, to, payload)

        def poll(self) -> Sent | Arrived | None:
            pair.responder.poll()
            return pair.near.poll()

        def close(self) -> None:
            calls.append("close")

    def open_port(name: str, queue_pairs: int) -> Device:
        assert (name, queue_pairs) == ("rxe0", 2)
        return Device()

    monkeypatch.setenv(KEY_VARIABLE, "a key for the tests only")
    clock, target = pair.near.clock, str(pair.target)
    arguments = ["ping", "--device", "rxe0", "--count", "3", "--interval", "0.001", target, target]
    assert ping.main(arguments, open_port=open_port, now=clock.mono, wall=clock.wall) == 0
    assert calls[:2] == ["prepare"] * 2, "both targets before the first probe"
    assert calls[-1] == "close"
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["src"] == "10.0.0.1/17"
    assert second["src"] == "10.0.0.1/18"
    assert first["dst"] == second["dst"] == target
    assert (first["sent"], first["lost"], first["whole"]) == (3, 0, 3)
    assert 100 <= first["rtt_us"]["min"] <= first["rtt_us"]["median"] <= first["rtt_us"]["max"]


def test_a_device_that_does_not_exist_is_reported_with_those_that_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_pyverbs(monkeypatch, ["rxe0", "rxe1"])
    with pytest.raises(RdmaError, match="no RDMA device 'rxe9'; there is rxe0, rxe1"):
        VerbsPort("rxe9")
