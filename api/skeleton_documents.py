"""Response bodies about the skeleton of a job: who exchanges traffic, and who probes whom."""

from __future__ import annotations

from typing import Final

import msgspec


class SkeletonRnic(msgspec.Struct, frozen=True, array_like=True):
    """[name, host, container, cluster, stage, expert, exception, sent, lost, rtt_us]: an rnic of a
    job; replicas of a position (a DP group) share a cluster; cluster, stage and expert are -1 where
    they are not known. Probes between it and the job's other rnics in the last minutes, and the
    median of its pairs' round trips [us] or null.
    """

    name: str
    host: str
    container: str
    cluster: int
    stage: int
    expert: int
    exception: bool
    sent: int
    lost: int
    rtt_us: float | None


class ProbedPair(msgspec.Struct, frozen=True, array_like=True):
    """[a, b, in_skeleton, sent, lost, rtt_us]: numbers of two rnics that probe each other, whether
    the skeleton has the pair, probes in both directions, and the median of its paths' round trips
    [us] or null.
    """

    a: int
    b: int
    in_skeleton: bool
    sent: int
    lost: int
    rtt_us: float | None


class FabricSkeleton(msgspec.Struct, frozen=True, kw_only=True):
    """The skeleton of a job in one fabric.

    state     used; declined (an inference that must not be used); none (not inferred)
    text      what it is, or why there is none, in one sentence
    until     end of the throughput that it was inferred from (RFC 3339); null without any
    period_s  length of a round [s]; dp: replicas of a position; stages: that are told apart; all 0
              unless it is used
    pairs     of the skeleton [count]; null where they are not stored
    probed    of them, those that are probed [count]
    rnics_total, links_total  how many there are; ``links`` has those that lose most first
    """

    fabric: str
    state: str
    text: str
    until: str | None
    period_s: int
    dp: int
    stages: int
    confidence: float | None
    pairs: int | None
    probed: int
    rnics: list[SkeletonRnic]
    rnics_total: int
    links: list[ProbedPair]
    links_total: int


class JobSkeleton(msgspec.Struct, frozen=True, kw_only=True):
    """A job's skeleton with the probes of the last minutes.

    as_of  end of the newest window of its paths (RFC 3339); null where none is stored
    """

    job: str
    as_of: str | None
    fabrics: list[FabricSkeleton]


ALL: Final = (JobSkeleton,)
