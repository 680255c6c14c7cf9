"""Which of the 19 published issue types it may be, and how likely.

Naive Bayes over what probes can see: kind and symptom rule types out, the other features shift the
odds. The odds are the catalogue's words put into numbers, not frequencies learnt from data; a type
that probes cannot see (gpu_direct_rdma_error) is never proposed.

Source  the catalogue of SkeletonHunter (SIGCOMM 2025), table of issue types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from localizer.explanation.parameters import DEFAULT
from localizer.verdicts.verdict import IssueTypes
from schemas.component_ids import kind_of
from schemas.documents.incident import Symptom

_SWITCH: Final = ("tor", "agg", "spine")


@dataclass(frozen=True, slots=True)
class IssueTypeModel:
    """A type of the catalogue.

    kinds, symptom  where it is, and what it does
    weight          odds against the others of the same kind and symptom, all features apart
    flapping, some, overlay, slow, inside    probability that losses come and go; that only some
                    five-tuples are hit; that the underlay is spared; that the added latency is
                    large; that paths between rnics of one host are hit far more than
                    those that leave it
    """

    kinds: tuple[str, ...]
    symptom: Symptom
    weight: float = 1.0
    flapping: float = 0.05
    some: float = 0.1
    overlay: float = 0.1
    slow: float = 0.3
    inside: float = 0.02


TYPES: Final[dict[str, IssueTypeModel]] = {
    "crc_error": IssueTypeModel(("link", "rnic"), "loss"),
    "switch_port_down": IssueTypeModel(("link",), "unconnectivity"),
    "switch_port_flapping": IssueTypeModel(("link",), "loss", flapping=0.9),
    "switch_offline": IssueTypeModel(_SWITCH, "unconnectivity"),
    "rnic_hardware_failure": IssueTypeModel(("rnic",), "unconnectivity", 0.8),
    "rnic_firmware_not_responding": IssueTypeModel(("rnic",), "high_latency", some=0.8),
    "rnic_port_down": IssueTypeModel(("rnic",), "unconnectivity"),
    "rnic_port_flapping": IssueTypeModel(("rnic",), "loss", 1.5, flapping=0.9),
    "offloading_failure": IssueTypeModel(("rnic",), "high_latency", overlay=0.9),
    "bond_error": IssueTypeModel(("rnic",), "unconnectivity", 0.5),
    "rnic_gid_change": IssueTypeModel(("rnic", "host"), "unconnectivity", 0.5),
    "pcie_nic_error": IssueTypeModel(("host",), "high_latency", some=0.5, inside=0.9),
    "not_using_rdma": IssueTypeModel(("vswitch",), "high_latency", overlay=0.95, slow=0.9),
    "repetitive_flow_offloading": IssueTypeModel(
        ("vswitch",), "high_latency", flapping=0.9, overlay=0.95
    ),
    "suboptimal_flow_offloading": IssueTypeModel(
        ("vswitch",), "high_latency", some=0.9, overlay=0.95
    ),
    "container_crash": IssueTypeModel(("container", "vswitch"), "unconnectivity", overlay=0.95),
    "hugepage_misconfiguration": IssueTypeModel(("host",), "high_latency"),
    "congestion_control_disabled": IssueTypeModel(_SWITCH, "high_latency", flapping=0.4),
}  # fmt: skip

#: What is in no catalogue (a switch that loses a third of its packets, say) may look like anything.
NONE: Final = "none of the catalogue"
_NONE: Final = IssueTypeModel(
    (), "loss", 0.6, flapping=0.2, some=0.4, overlay=0.2, slow=0.3, inside=0.1
)


@dataclass(frozen=True, slots=True)
class IssueFeatures:
    """What probes show of a trouble; None where it cannot be said."""

    flapping: bool | None = None
    some: bool | None = None
    overlay: bool | None = None
    slow: bool | None = None
    inside: bool | None = None


def likely(
    tie_set: Sequence[str], symptom: Symptom, features: IssueFeatures
) -> list[tuple[str, float]]:
    """Types and their probabilities, likeliest first; empty where the catalogue has none.

    One of them is NONE.

    tie_set  component ids, likeliest first: later members count for half
    """
    odds = {}
    kinds = [kind_of(name) for name in tie_set]
    for name, known in TYPES.items():
        places = [n for n, kind in enumerate(kinds) if kind in known.kinds]
        if (known.symptom == "high_latency") != (symptom == "high_latency") or not places:
            continue
        there = 1.0 if places[0] == 0 else 0.5
        odds[name] = (
            there
            * _odds(known, features)
            * (1.0 if known.symptom == symptom else DEFAULT.otherwise)
        )
    if odds:
        odds[NONE] = _odds(_NONE, features)
    total = sum(odds.values())
    return sorted(((n, w / total) for n, w in odds.items()), key=lambda pair: -pair[1])


def stated(types: Sequence[tuple[str, float]]) -> str | None:
    """The type that is clear enough to be reported alone; None where none is.

    types  and their probabilities, likeliest first
    """
    if not types or types[0][0] == NONE:
        return None
    (name, likely), *others = types
    following = max((p for _, p in others), default=0.0)
    clear = likely > DEFAULT.stated and likely >= DEFAULT.clearly * following
    return name if clear else None


def issue_types(tie_set: Sequence[str], symptom: Symptom, features: IssueFeatures) -> IssueTypes:
    """What a verdict says of its issue type."""
    types = likely(tie_set, symptom, features)
    return IssueTypes(
        stated(types), {name: round(p, 3) for name, p in types[: DEFAULT.named]}, features.flapping
    )


def of_members(
    tie_set: Sequence[str], symptom: Symptom, features: IssueFeatures
) -> dict[str, float]:
    """Probability of each member of a tie set to be the culprit, given that one of them is.

    A member is as likely as the types, and what is in no catalogue, that its kind may have.
    """
    odds = {}
    for name in tie_set:
        types = [
            known for known in TYPES.values()
            if kind_of(name) in known.kinds
            and (known.symptom == "high_latency") == (symptom == "high_latency")
        ]  # fmt: skip
        odds[name] = _odds(_NONE, features) + sum(
            (1.0 if kind_of(name) == known.kinds[0] else 0.5)
            * (1.0 if known.symptom == symptom else DEFAULT.otherwise)
            * _odds(known, features)
            for known in types
        )
    total = sum(odds.values())
    return {name: each / total for name, each in odds.items()}


def likeliest_first(tie_set: Sequence[str], symptom: Symptom) -> list[str]:
    """Components that no probe tells apart, by how much in the catalogue does this to their kind.

    Stable: where the catalogue has nothing to say, the order stays.
    """

    def worth(name: str) -> float:
        return sum(
            known.weight * (1.0 if kind_of(name) == known.kinds[0] else 0.5)
            for known in TYPES.values()
            if kind_of(name) in known.kinds and known.symptom == symptom
        )

    return sorted(tie_set, key=worth, reverse=True)


def _odds(known: IssueTypeModel, features: IssueFeatures) -> float:
    weight = known.weight
    for name in IssueFeatures.__slots__:
        seen = getattr(features, name)
        if seen is not None:
            chance = getattr(known, name)
            weight *= chance if seen else 1.0 - chance
    return weight
