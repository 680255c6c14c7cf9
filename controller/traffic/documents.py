"""An inferred skeleton -> its document."""

from __future__ import annotations

from controller.skeleton.inference import Skeleton as Inferred
from controller.skeleton.series import Rnics
from schemas.documents.tasks.skeleton import Position, Skeleton
from schemas.documents.times import rfc3339

_NS = 1_000_000_000


def document(fabric: str, job: str, found: Inferred, names: Rnics, seconds: int) -> Skeleton:
    """names  of the rows that the indices in ``found`` point into; seconds: of throughput"""

    def known(value: int) -> int | None:
        return int(value) if value >= 0 else None

    columns = zip(
        found.rnic, found.cluster, found.stage, found.expert, found.exception, strict=True
    )
    return Skeleton(
        fabric=fabric, job=job, declined=found.declined or None,
        start=rfc3339(names.start_ns), end=rfc3339(names.start_ns + seconds * _NS),
        period_s=found.period_s, dp=found.dp, tp_pp=found.tp_pp, stages=found.stages,
        unresolved=found.unresolved, later_s=[round(each, 3) for each in found.later_s],
        confidence=round(found.confidence, 4), fidelity=round(found.fidelity, 4),
        targets=round(2 * len(found.pairs) / max(1, len(found.rnic)), 2),
        rnics=[
            Position(node_sn=names.node_sn[row], real_ip=names.real_ip[row], cluster=known(cluster),
                     stage=known(stage), expert=known(expert), exception=bool(exception))
            for row, cluster, stage, expert, exception in columns
        ],
        pairs=[(names.real_ip[a], names.real_ip[b]) for a, b in found.pairs.tolist()],
    )  # fmt: skip
