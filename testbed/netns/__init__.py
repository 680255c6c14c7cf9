"""A real data-centre fabric on one machine, made of Linux network namespaces.

``plan`` (with ``routes``, ``overlay``, ``document``) says what it is, ``build`` makes it,
``fabric`` holds it, ``agents`` run in it. ``faults`` names what can be broken: ``filters`` lose
packets, ``wires`` delay and spoil them, ``carrier`` pulls cables and addresses, ``vswitch``
forgets entries, ``crash`` kills and starves. ``places`` finds a component's ports; ``state``
remembers a fabric that outlives the command that built it.
"""

from testbed.netns.fabric import Fabric
from testbed.netns.faults.fault import Fault, FaultError
from testbed.netns.machine import FabricError, missing, sweep
from testbed.netns.plan.places import PlaceError
from testbed.netns.plan.plan import Plan

__all__ = ["Fabric", "FabricError", "Fault", "FaultError", "PlaceError", "Plan", "missing", "sweep"]
