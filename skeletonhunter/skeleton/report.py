"""A skeleton in words."""

from __future__ import annotations

from collections import Counter, defaultdict

from schemas.documents.tasks.skeleton import Skeleton


def as_text(document: Skeleton) -> str:
    """Some lines for people."""
    name = f"job {document.job}" if document.job else "rnics of one rhythm"
    head = f"{name}: {len(document.rnics)} rnics, {document.start} to {document.end}"
    if document.declined:
        return f"{head}\n  no skeleton: {document.declined}\n  use the pairs on the same rail"
    lines = [
        head,
        f"  rounds of {document.period_s} s; DP {document.dp}, TP x PP {document.tp_pp}, "
        f"{document.stages} pipeline stages",
        f"  confidence {document.confidence:.2f}, fidelity {document.fidelity:.2f}; "
        f"{len(document.pairs)} pairs, {document.targets:.1f} targets an rnic",
    ]
    if document.unresolved:
        lines.append(f"  {document.unresolved} positions are not told apart from others")
    hosts: defaultdict[int, set[str]] = defaultdict(set)
    for rnic in document.rnics:
        if rnic.stage is not None:
            hosts[rnic.stage].add(rnic.node_sn)
    each = len(hosts) // max(1, len(document.later_s))
    for stage, names in sorted(hosts.items()):
        shown = ", ".join(sorted(names)[:_SHOWN])
        more = f", ... ({len(names)})" if len(names) > _SHOWN else ""
        lines.append(f"  stage {stage} (+{document.later_s[stage // each]:.2f} s): {shown}{more}")
    experts = Counter(rnic.expert for rnic in document.rnics if rnic.expert is not None)
    if experts:
        sizes = sorted(set(experts.values()))
        lines.append(f"  {len(experts)} expert groups of {sizes[0]} rnics")
    odd = sorted({rnic.node_sn for rnic in document.rnics if rnic.exception})
    if odd:
        lines.append(f"  fit badly: {', '.join(odd[:_SHOWN])}{', ...' * (len(odd) > _SHOWN)}")
    return "\n".join(lines)


_SHOWN = 6
