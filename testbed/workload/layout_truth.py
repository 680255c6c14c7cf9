"""layout.json: the true layout of each job, which skeleton inference has to find."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from schemas.documents.times import rfc3339
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.workload.jobs import Phase
from testbed.workload.layouts import KINDS, pairs, ranks
from testbed.workload.skeleton import NEVER


class Gpu(msgspec.Struct, frozen=True):
    """An endpoint and the position of the GPU behind it."""

    node_id: str
    node_sn: str
    ip: str
    real_ip: str
    rail: int
    dp: int
    pp: int
    tp: int
    ep: int


class JobLayout(msgspec.Struct, frozen=True):
    """A job while its layout does not change; times RFC 3339 UTC, ``until`` null to the end.

    tp, pp, dp, ep  degrees of parallelism
    gpus            by host, then rail
    pairs           [ip, ip, why] that carry training traffic, each in both directions;
                    why = pp (neighbouring stages), dp (collectives of a stage), ep (expert group)
    """

    fabric: str
    job: str
    tenant: str
    start: str
    until: str | None
    tp: int
    pp: int
    dp: int
    ep: int
    gpus: list[Gpu]
    pairs: list[tuple[str, str, str]]


def layouts(simulation: Simulation) -> Iterator[JobLayout]:
    """One document per job and phase."""
    rails = {rnic.real_ip: rnic.rail for host in simulation.topology.hosts for rnic in host.rnics}
    for phase in simulation.schedule.phases:
        layout, gpus = phase.layout, _gpus(simulation, phase, rails)
        at = [gpus[h * layout.rails : (h + 1) * layout.rails] for h in range(layout.hosts)]
        yield JobLayout(
            fabric=simulation.topology.fabric,
            job=phase.job,
            tenant=phase.tenant,
            start=rfc3339(simulation.start_ns + phase.from_s * SECOND_NS),
            until=None
            if phase.until_s == NEVER
            else rfc3339(simulation.start_ns + phase.until_s * SECOND_NS),
            tp=layout.tp,
            pp=layout.pp,
            dp=layout.dp,
            ep=layout.ep,
            gpus=gpus,
            pairs=[
                (a.ip, b.ip, KINDS[why])
                for one, other, why in pairs(layout).tolist()
                for a, b in zip(at[one], at[other], strict=True)
            ],
        )


def _gpus(simulation: Simulation, phase: Phase, rails: dict[str, int]) -> list[Gpu]:
    place = ranks(phase.layout)
    out = []
    for h, index in enumerate(phase.members):
        box = simulation.schedule.containers[index]
        ends = sorted(box.endpoints, key=lambda end: rails[end.real_ip])
        for r, end in enumerate(ends[: phase.layout.rails]):
            position = (int(each[h, r]) for each in (place.dp, place.pp, place.tp, place.ep))
            out.append(
                Gpu(box.node_id, box.node_sn, end.ip, end.real_ip, rails[end.real_ip], *position)
            )
    return out


def encode(simulation: Simulation) -> Iterator[bytes]:
    """layout.json in pieces: a JSON array with one job per line."""
    encoder = msgspec.json.Encoder()
    before = b"[\n"
    for each in layouts(simulation):
        yield before + encoder.encode(each)
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"
