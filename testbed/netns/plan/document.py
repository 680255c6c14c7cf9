"""A plan as the topology document that the localizer and the controller read. No I/O."""

from __future__ import annotations

from typing import Final, Literal

from schemas.documents.topology import Container, Endpoint, Host, Rnic, Switch, Topology
from testbed.netns.plan.plan import Plan

_TIER: Final[dict[str, Literal["asw", "psw", "dsw"]]] = {"tor": "asw", "agg": "psw", "spine": "dsw"}


def topology(plan: Plan) -> Topology:
    """Hosts, switches with their interfaces' addresses, links, containers."""
    addresses: dict[str, list[str]] = {name: [] for name in plan.routers()}
    for cable in plan.cables():
        for node, _, address in cable.ends():
            if node in addresses:
                addresses[node].append(address)
    return Topology(
        fabric=plan.fabric,
        hosts=[_host(plan, h) for h in range(plan.hosts)],
        switches=[
            Switch(name, _TIER[name.partition("-")[0]], _switch_pod(plan, name), addresses[name])
            for name in plan.routers()
        ],
        links=[(cable.lower[0], cable.upper[0]) for cable in plan.switch_cables()],
        containers=[
            _container(plan, h, c) for h in range(plan.hosts) for c in range(plan.containers)
        ],
    )


def _host(plan: Plan, host: int) -> Host:
    tors = [plan.tor_of(host, nic) for nic in range(plan.nics)]
    rnics = [Rnic(plan.nic_address(host, n), n, f"tor-{tor}") for n, tor in enumerate(tors)]
    pod = plan.pod_of(tors[0]) if plan.aggs else host // plan.hosts_per_tor
    return Host(f"host-{host}", rnics, f"pod-{pod}")


def _switch_pod(plan: Plan, name: str) -> str:
    kind, _, number = name.partition("-")
    if not plan.aggs or kind == "spine":
        return ""
    pod = plan.pod_of(int(number)) if kind == "tor" else int(number) // plan.aggs
    return f"pod-{pod}"


def _container(plan: Plan, host: int, container: int) -> Container:
    endpoints = [
        Endpoint(plan.container_address(host, container, nic), plan.nic_address(host, nic))
        for nic in range(plan.nics)
    ]
    tenant = plan.tenant_of(container)
    return Container(
        f"cont-{host}-{container}", f"host-{host}", f"job-{tenant}", f"tenant-{tenant}", endpoints
    )
