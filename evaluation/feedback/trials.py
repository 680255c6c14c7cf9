"""Tie sets of broken links, with and without the feedback loop.

``python -m evaluation.feedback.trials --seeds 12`` breaks one link a seed on a fabric of three pods
whose aggs each have spines of their own. Its lists join two of the pods only, as those of a job on
these would: nothing in them tells the two links of a spine and the spine apart. Prints the members
of the tie set with and without the loop, and when one was left: 10 s a seed. Probes of requests are
simulated once a second, half as often as they are asked for, and their five-tuples are traced in
the first two seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import combinations
from typing import Final, Literal, NamedTuple

import msgspec

from controller.feedback.choice import Ground
from controller.feedback.feedback import Feedback
from controller.feedback.parameters import DEFAULT
from controller.ping_lists.lists import PingLists
from controller.ping_lists.underlay import Pair
from controller.requests.open_requests import OpenRequests
from controller.service.requests.grounds import ground_of
from evaluation.bench.input import SECOND, START_NS
from probers.ping_list.document import PingList
from schemas.component_ids import link
from schemas.documents.incident import Incident
from schemas.documents.requests.request import Request
from schemas.documents.topology import Host, Rnic, Switch, Topology
from schemas.wire import codecs
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.simulator.simulator import Simulation
from testbed.workload.listed import listed

_WARM_S: Final = 90
_LASTS_S: Final = 130  # of the fault: a round, and the begin of the next one
_SWITCHES: Final = ("link", "tor", "agg", "spine")
_DELAY_S: Final = 3  # from a plan until agents begin: topic, look, agents' reading
_PODS, _TORS, _HOSTS, _AGGS, _SPINES = 3, 2, 4, 2, 2  # each of the one before; spines of an agg


class Outcome(NamedTuple):
    """One seed.

    before   members of the tie set when the loop first looks at it
    least    smallest tie set from then on; without: the same without the loop
    one_s    seconds from the plan until one member was left; None: there never was
    packets  that was asked for
    right    whether the broken link is in the smallest tie set
    """

    link: str
    before: int
    least: int
    without: int
    one_s: int | None
    packets: int
    right: bool


def trial(seed: int, loss: float) -> Outcome | None:
    """Break one link of a spine; None where its incident never has several members."""
    topology = fabric()
    lists = _lists(topology)
    pod, agg, spine = seed % 2, seed // 2 % _AGGS, seed // 4 % _SPINES
    broken = link(f"agg:agg-{pod}-{agg}", f"spine:spine-{agg}-{spine}")
    fault = Fault(kind="link_loss", component=broken, start_s=_WARM_S, magnitude=loss)
    plain = _Run(topology, lists, fault, seed, None)
    plain.play()
    if max(map(len, plain.seen), default=0) < 2:
        return None
    rounds = _Run(topology, lists, fault, seed, Feedback())
    rounds.play()
    least = min(rounds.seen, key=len, default=[])
    without = min(map(len, plain.seen), default=0)
    return Outcome(
        broken,
        rounds.before,
        len(least),
        without,
        rounds.one_s,
        rounds.packets,
        broken in least,
    )


def fabric() -> Topology:
    """Three pods; agg a of each has the same spines."""
    pods, tors, aggs = range(_PODS), range(_TORS), range(_AGGS)
    links = [(f"tor-{p}-{t}", f"agg-{p}-{a}") for p in pods for t in tors for a in aggs]
    links += [
        (f"agg-{p}-{a}", f"spine-{a}-{s}") for p in pods for a in aggs for s in range(_SPINES)
    ]
    tier: dict[str, Literal["asw", "psw", "dsw"]] = {"tor": "asw", "agg": "psw", "spine": "dsw"}
    return Topology(
        fabric="f1",
        hosts=[
            Host(f"h{p}{t}{h}", [Rnic(f"10.{p}.{t}.{h + 1}", 0, f"tor-{p}-{t}")], f"pod-{p}")
            for p in pods for t in tors for h in range(_HOSTS)
        ],
        switches=[
            Switch(name, tier[name.partition("-")[0]], addresses=[name])
            for name in sorted({end for pair in links for end in pair})
        ],
        links=links,
    )  # fmt: skip


class _Run:
    """One simulation through the localizer; feedback None: without the loop."""

    def __init__(
        self, topology: Topology, lists: PingLists, fault: Fault, seed: int,
        feedback: Feedback | None,
    ) -> None:  # fmt: skip
        self._topology, self._fault, self._seed = topology, fault, seed
        self._feedback, self._open = feedback, OpenRequests()
        self._ground: Ground = ground_of(topology, lists)
        own = [msgspec.convert(lists.document(each), PingList) for each in lists.hosts]
        self._simulation = self._simulated(own, START_NS, fault)
        self._extra: list[tuple[int, Simulation]] = []
        self._incidents: dict[str, Incident] = {}
        self.seen: list[list[str]] = []  # tie sets as they were written
        self.before, self.packets = 0, 0
        self.one_s: int | None = None
        self._first_s: int | None = None

    def play(self) -> None:
        """All seconds."""
        replay = Replay(topology=self._topology)
        for index in range(_WARM_S + _LASTS_S):
            second = self._simulation.second(index)
            arrival_ns = second.start_ns + SECOND
            found = replay.feed(codecs.conform(second.pings).batch, second.heartbeats, arrival_ns)
            self._see(found.incidents, index)
            for begin, simulation in self._extra:
                if begin <= index < begin + DEFAULT.lasts_s:
                    more = codecs.conform(simulation.second(index - begin).pings).batch
                    self._see(replay.feed(more, (), arrival_ns).incidents, index)
            if self._feedback is not None:
                self._look(self._feedback, index)

    def _see(self, incidents: Sequence[Incident], index: int) -> None:
        for each in incidents:
            self._incidents[each.incident_id] = each
            if each.kind not in _SWITCHES:
                continue
            self.seen.append(each.tie_set)
            if self._first_s is not None and self.one_s is None and len(each.tie_set) == 1:
                self.one_s = index - self._first_s

    def _look(self, feedback: Feedback, index: int) -> None:
        now_ms = START_NS // 1_000_000 + 1000 * index
        self._open.expire(now_ms)
        for each in feedback.due(self._incidents.values(), now_ms):
            made = feedback.plan(each, self._ground, self._open.room(), now_ms)
            for request in made:
                self._open.add(request)
                feedback.take(request)
                self.packets += request.packets
            probes = [request for request in made if request.kind == "probe"]
            if probes:
                if self._first_s is None:
                    self._first_s, self.before = index, len(each.tie_set)
                self._begin(probes, index + _DELAY_S)

    def _begin(self, probes: Sequence[Request], begin: int) -> None:
        """Agents do what they are asked from ``begin`` on."""
        rnic = {own.ip: own for own in self._ground.endpoints}
        documents = [
            msgspec.convert(
                {
                    "node_sn": each.node_sn, "fabric": each.fabric, "interval_s": 1.0,
                    "endpoints": [
                        rnic[ip].document() for ip in sorted({t.src_ip for t in each.targets})
                    ],
                    "targets": msgspec.to_builtins(each.targets),
                },
                PingList,
            )
            for each in probes
        ]  # fmt: skip
        shifted = msgspec.structs.replace(self._fault, start_s=0)
        made = self._simulated(documents, START_NS + begin * SECOND, shifted)
        self._extra.append((begin, made))

    def _simulated(self, lists: Sequence[PingList], start_ns: int, fault: Fault) -> Simulation:
        made = Simulation(
            self._topology, [fault], seed=self._seed, start_ns=start_ns, layers=("underlay",)
        )
        return made.probing(listed(made.network, lists))


def _lists(topology: Topology) -> PingLists:
    """Rnics of a ToR probe each other; those of the first two pods two of the other pod."""
    rnics = [(host.pod, each) for host in topology.hosts for each in host.rnics]
    both = [
        Pair(a.real_ip, b.real_ip, 1) for (_, a), (_, b) in combinations(rnics, 2) if a.asw == b.asw
    ]
    first, second = ([each.real_ip for pod, each in rnics if pod == f"pod-{n}"] for n in (0, 1))
    both += [
        Pair(a, second[(index + step) % len(second)], 3)
        for index, a in enumerate(first)
        for step in (0, 3)
    ]
    lists = PingLists(topology, pairs=both)
    for host in topology.hosts:
        lists.host(host.node_sn, ready=True)
    return lists


def main() -> None:
    """Seeds 1, 2, ... with one loss."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=12)
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--loss", type=float, default=0.3)
    asked = options.parse_args()
    found = [trial(seed, asked.loss) for seed in range(asked.first, asked.first + asked.seeds)]
    tied = [each for each in found if each is not None]
    for each in tied:
        print(
            f"{each.link}: {each.before} members, {each.least} at the least "
            f"({each.without} without the loop), one after {each.one_s} s, "
            f"{each.packets:,} packets{'' if each.right else ', the wrong one'}"
        )
    one = sorted(each.one_s for each in tied if each.one_s is not None)
    print(f"{len(tied)} of {len(found)} incidents with several members, {len(one)} told apart")


if __name__ == "__main__":
    main()
