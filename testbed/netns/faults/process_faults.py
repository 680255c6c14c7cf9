"""process kill, cpu load, cpu quota: faults of agents' processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from schemas.component_ids import kind_of
from testbed.netns import cpu_groups, machine
from testbed.netns.faults import link_faults
from testbed.netns.faults.fault import Fault, FaultError
from testbed.netns.namespaces import Namespaces
from testbed.netns.probes import agents as agent_processes
from testbed.netns.probes.agent import Agent

_PERIOD_S: Final = 2.0
_BUSY_PER_CPU: Final = 4
_BUSY: Final = "while :; do :; done"
_STARVE: Final = """\
while :; do
  kill -STOP {pids}; sleep {without}
  kill -CONT {pids}; sleep {rest}
done 2>/dev/null"""


def victims_of(fabric: Namespaces, fault: Fault) -> list[Agent]:
    """The agents that a fault hits: a container's own agent, or all agents that send a host's
    heartbeats, its containers' agents included."""
    kind, _, name = fault.at.partition(":")
    if kind == "container":
        return [agent for node, agent in fabric.agents.items() if node == name]
    return [agent for agent in fabric.agents.values() if agent.node_sn == name]


def kill(fabric: Namespaces, fault: Fault) -> None:
    """Kill the agents; a container that ends loses its network too."""
    victims = victims_of(fabric, fault)
    if kind_of(fault.at) == "container":
        link_faults.pull(fabric, fault)
    elif not victims:
        raise FaultError(f"{fault}: no agent runs there; start the fabric with --agents")
    fault.victims = [agent.process for agent in victims]
    machine.end(fault.victims, now=True)


def restart(fabric: Namespaces, fault: Fault) -> None:
    """Start the agents again."""
    if kind_of(fault.at) == "container":
        link_faults.plug(fabric, fault)
    for agent in victims_of(fabric, fault):
        if not machine.alive(agent.process):
            agent_processes.start(fabric, agent)


def dead(fabric: Namespaces, fault: Fault) -> list[str]:
    """Agents that do not run, and links of the container that are down."""
    found = [
        f"agent in {agent.node} does not run"
        for agent in victims_of(fabric, fault)
        if not machine.alive(agent.process)
    ]
    if kind_of(fault.at) == "container":
        found += link_faults.missing_links(fabric, fault)
    return found


def starve(fabric: Namespaces, fault: Fault) -> None:
    """Stop the agents for ``percent`` of each period, as a CPU quota does."""
    victims = victims_of(fabric, fault)
    if not victims:
        raise FaultError(f"{fault}: no agent runs there; start the fabric with --agents")
    fault.victims = [agent.process for agent in victims]
    period = fault.period_s or _PERIOD_S
    without = period * (fault.percent or 100.0) / 100
    script = _STARVE.format(
        pids=" ".join(str(victim.pid) for victim in fault.victims),
        without=f"{without:.3f}",
        rest=f"{period - without:.3f}",
    )
    node = victims[0].node
    fault.helpers = [fabric.helper(node, ["sh", "-c", script]).process]


def resume(fabric: Namespaces, fault: Fault) -> None:
    """Continue the agents."""
    machine.end(fault.helpers, now=True)
    machine.resume(fault.victims)


def halted(fabric: Namespaces, fault: Fault) -> list[str]:
    """The helper that stops the agents, and the agents that are stopped."""
    found = [f"process {helper.pid}" for helper in fault.helpers if machine.alive(helper)]
    return found + [
        f"process {victim.pid} is halted" for victim in fault.victims if machine.stopped(victim)
    ]


def throttle(fabric: Namespaces, fault: Fault) -> None:
    """Put the agents into a cgroup with ``percent`` of one CPU, beside four busy loops per CPU, as
    in a container whose limit is too low for what else runs in it."""
    victims = victims_of(fabric, fault)
    if not victims:
        raise FaultError(f"{fault}: no agent runs there; start the fabric with --agents")
    group = cpu_groups.make(_group_of(fabric, fault), fault.percent or 100.0)
    loops = _BUSY_PER_CPU * (os.cpu_count() or 1)
    busy = [fabric.helper(victims[0].node, ["sh", "-c", _BUSY]) for _ in range(loops)]
    fault.helpers = [each.process for each in busy]
    fault.victims = [agent.process for agent in victims]
    for each in fault.helpers:
        cpu_groups.move(each, group)
    for each in fault.victims:
        fault.before[str(each.pid)] = str(cpu_groups.move(each, group))


def unthrottle(fabric: Namespaces, fault: Fault) -> None:
    """End the busy loops, put the agents back and remove the cgroup."""
    machine.end(fault.helpers, now=True)
    for each in fault.victims:
        if machine.alive(each):
            cpu_groups.move(each, Path(fault.before[str(each.pid)]))
    cpu_groups.remove(_group_of(fabric, fault))


def throttled(fabric: Namespaces, fault: Fault) -> list[str]:
    """The busy loops and the cgroup."""
    found = [f"process {helper.pid}" for helper in fault.helpers if machine.alive(helper)]
    return found + [f"cgroup {name}" for name in cpu_groups.present(_group_of(fabric, fault))]


def _group_of(fabric: Namespaces, fault: Fault) -> str:
    return f"{fabric.prefix}{fault.fault_id}"
