"""The blacklist as schedulers read it. Pure; every text from records is made safe to paste."""

from __future__ import annotations

import re
from typing import Any, Final

from controller.blacklist.blacklist import Blacklist, Entry

#: What a name of a node may hold in Slurm and Kubernetes; anything else is no node of theirs.
_NODE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9 ,.:;()%|/_+-]")
_REASON_LENGTH: Final = 120

#: First word of the reason of a node that is drained by the blacklist.
OWNER: Final = "skeletonhunter"


def kubernetes(listed: Blacklist) -> dict[str, Any]:
    """A node affinity that keeps pods off the hosts; node names are node_sn.

    Empty without entries, since an expression without values is not valid.
    """
    nodes = _nodes(listed)
    if not nodes:
        return {}
    expression = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": nodes}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [expression]}]
            }
        }
    }


def slurm(listed: Blacklist) -> str:
    """A line for scontrol per host, to be looked at before it is run."""
    first: dict[str, Entry] = {}
    for each in listed.entries:
        first.setdefault(each.node_sn, each)
    return "".join(
        f'scontrol update NodeName={node} State=DRAIN Reason="{reason_of(first[node])}"\n'
        for node in _nodes(listed)
    )


def is_node(name: str) -> bool:
    """Whether a node may have that name, which stands for no other node: not Slurm's ALL."""
    return _NODE.fullmatch(name) is not None and name.upper() != "ALL"


def _nodes(listed: Blacklist) -> list[str]:
    return sorted({each.node_sn for each in listed.entries if is_node(each.node_sn)})


def reason_of(entry: Entry) -> str:
    """Why Slurm's node is drained; it begins with OWNER and the incident's id."""
    text = f"{OWNER} {entry.incident_id} {entry.severity} {entry.component} {entry.reason}"
    return _UNSAFE.sub("_", text)[:_REASON_LENGTH]
