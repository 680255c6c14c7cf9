"""A fabric of Linux network namespaces on one machine: real packets, real faults, real agents.

In: a ``Plan`` (shape of the fabric) and ``Fault``s. Out: namespaces, agents' records, and the truth
about each fault. Start with ``plan/plan.py`` (names and addresses), then ``fabric.py`` (what a
caller uses) and ``faults/actions.py`` (the table of faults). ``machine`` runs ip, bridge and nft;
``state`` keeps fabrics that outlive the command that built them.
"""

from testbed.netns.fabric import Fabric
from testbed.netns.faults.fault import Fault, FaultError
from testbed.netns.machine import FabricError, missing, remove_stale
from testbed.netns.plan.component_ports import UnknownComponent
from testbed.netns.plan.plan import Plan

__all__ = [
    "Fabric",
    "FabricError",
    "Fault",
    "FaultError",
    "Plan",
    "UnknownComponent",
    "missing",
    "remove_stale",
]  # fmt: skip
