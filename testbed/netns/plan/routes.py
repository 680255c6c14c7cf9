"""Routes of every node, as lines for ``ip -batch``. No I/O.

Routes are static: when a neighbour loses a link, a switch keeps hashing five-tuples onto it until
an operator drains it. Black hole routes keep packets for a destination that is down from looping
between the tiers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from testbed.netns.plan import addresses
from testbed.netns.plan.plan import Plan

_LOCAL_PREFERENCE: Final = 100
_NIC_PREFERENCE: Final = 10
_NIC_TABLE: Final = 101
_LAST_RESORT: Final = 4096  # metric


def routes(plan: Plan, node: str) -> list[str]:
    """Lines for the node's namespace, once its links are up."""
    kind, _, number = node.partition("-")
    if kind == "cont":
        return []
    return {"spine": _spine, "agg": _agg, "tor": _tor, "host": _host}[kind](plan, int(number))


def replaced(lines: Iterable[str]) -> list[str]:
    """The same routes as ``route replace``, for a node that may have lost some of them."""
    return [
        line.replace("route add", "route replace", 1)
        for line in lines
        if line.startswith("route add")
    ]


def _spine(plan: Plan, spine: int) -> list[str]:
    lines = []
    for tor in range(plan.tors):
        if plan.aggs:
            gateways = [
                plan.spine_cable(spine, agg).lower[2] for agg in plan.aggs_of(plan.pod_of(tor))
            ]
        else:
            gateways = [plan.switch_cable(spine, tor).lower[2]]
        lines.append(f"route add {_rnics(plan, tor)} {_via(gateways)}")
    return [*lines, f"route add blackhole {_all(plan)} metric {_LAST_RESORT}"]


def _agg(plan: Plan, agg: int) -> list[str]:
    own = plan.tors_of(agg // plan.aggs)
    down = [
        f"route add {_rnics(plan, tor)} {_via([plan.agg_cable(agg, tor).lower[2]])}" for tor in own
    ]
    up = _via([plan.spine_cable(spine, agg).upper[2] for spine in range(plan.spines)])
    holes = [f"route add blackhole {_rnics(plan, tor)} metric {_LAST_RESORT}" for tor in own]
    return [*down, f"route add {_all(plan)} {up}", *holes]


def _tor(plan: Plan, tor: int) -> list[str]:
    if plan.aggs:
        gateways = [plan.agg_cable(agg, tor).upper[2] for agg in plan.aggs_of(plan.pod_of(tor))]
    else:
        gateways = [plan.switch_cable(spine, tor).upper[2] for spine in range(plan.spines)]
    return [
        f"route add {_all(plan)} {_via(gateways)}",
        f"route add blackhole {_rnics(plan, tor)}",
    ]


def _host(plan: Plan, host: int) -> list[str]:
    """Traffic from NIC r's address leaves by NIC r, even towards an address of the same host:
    the local table comes after the NICs' own tables for what the host itself sends."""
    lines = [
        f"rule add pref {_LOCAL_PREFERENCE} lookup local",
        "rule del pref 0",
        # For senders that bind to no NIC, such as a plain ping.
        f"route add {_all(plan)} via {plan.nic_cable(host, 0).upper[2]}",
    ]
    for nic in range(plan.nics):
        cable, table = plan.nic_cable(host, nic), _NIC_TABLE + nic
        pref, own = _NIC_PREFERENCE + nic, cable.lower[2]
        lines += [
            f"route add default via {cable.upper[2]} dev nic{nic} table {table}",
            f"rule add pref {pref} from {own} iif lo lookup {table}",
        ]
    return lines


def _rnics(plan: Plan, tor: int) -> str:
    return addresses.rnics_of(plan.ipv6, tor)


def _all(plan: Plan) -> str:
    return addresses.everything(plan.ipv6)


def _via(gategateways: list[str]) -> str:
    if len(gategateways) == 1:
        return f"via {gategateways[0]}"
    return " ".join(f"nexthop via {gateway}" for gateway in gategateways)
