"""An agent that runs in a node of the fabric, as the state file records it."""

from __future__ import annotations

import msgspec

from testbed.netns.machine import Process


class Agent(msgspec.Struct, frozen=True):
    """A running agent, and the command line that starts it again.

    node     the namespace it runs in; node_sn: the host that its heartbeats name
    log      file that receives its stderr, "" = none
    """

    node: str
    node_sn: str
    argv: list[str]
    log: str
    process: Process
