"""Evidence of hosts about an incident: counters of ports, flow tables as Open vSwitch prints them.

``tests/data/open_vswitch`` holds what a real Open vSwitch 3.1.0 printed in three hosts of the
namespace fabric: healthy, with the flows that leave host-0 removed (missing_flow), and with flows
in host-0 that send packets back into the tunnel (loop); in ``ipv6`` what it printed of IPv6 rules
and flows, made by ``record_ipv6.sh``. No flow is offloaded there: what
``datapath`` makes has the shape that the documents of Open vSwitch give, and no rnic printed it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schemas.documents.requests.evidence import DeviceCounters, Evidence
from schemas.documents.times import rfc3339

START_S = 1_780_000_000
DATA = Path(__file__).parents[2] / "data/open_vswitch"
HOSTS = ("host-0", "host-1", "host-2")

_SOFTWARE_PART = "dp:ovs, actions:"
_OFFLOADED_PART = "offloaded:yes, dp:tc, actions:"


def dump(kind: str, host: str) -> str:
    """What the commands of a host printed: kind is healthy, missing_flow, loop or ipv6."""
    return (DATA / kind / f"{host}.txt").read_text()


def datapath(*flows: tuple[int, str, bool], packets: int = 200) -> str:
    """A dump of the datapath: number of a flow, the rnic that it leaves by, whether offloaded."""
    lines = ["$ /usr/bin/ovs-appctl dpctl/dump-flows -m"]
    for number, rnic, offloaded in flows:
        lines.append(
            f"ufid:0000000{number}-1111-2222-3333-444444444444, skb_priority(0/0),recirc_id(0),"
            f"in_port(pf0vf{number}),packet_type(ns=0/0,id=0/0),"
            f"eth(src=02:00:00:00:00:01,dst=02:00:00:01:00:0{number}),eth_type(0x0800),"
            f"ipv4(src=0.0.0.0/0.0.0.0,dst=0.0.0.0/0.0.0.0,proto=0/0,frag=no), packets:{packets}, "
            f"bytes:20580, used:0.360s, {_OFFLOADED_PART if offloaded else _SOFTWARE_PART}"
            f"set(tunnel(tun_id=0x64,src={rnic},dst=10.0.9.9,ttl=64,tp_dst=4789,flags(key))),"
            "vxlan_sys_4789"
        )
    return "\n".join(lines) + "\n"


def tc_filters(
    *flows: tuple[int, str, bool],
    packets: int = 200,
    device: str = "pf0vf0",
    peer: str = "10.0.9.9",
) -> str:
    """Filters of a device: number of a flow, the rnic that it leaves by, whether the rnic has it.
    The shape is that of iproute2's own printing; no rnic printed it."""
    lines = [f"$ /usr/sbin/tc -s filter show dev {device} ingress",
             "filter protocol ip pref 2 flower chain 0 "]  # fmt: skip
    for number, rnic, in_hw in flows:
        lines += [
            f"filter protocol ip pref 2 flower chain 0 handle 0x{number:x} ",
            f"  dst_mac 02:00:00:01:00:0{number}", "  src_mac 02:00:00:00:00:01",
            "  eth_type ipv4", "  ip_flags nofrag",
            "  in_hw in_hw_count 1" if in_hw else "  not_in_hw",
            "\taction order 1: tunnel_key  set", f"\tsrc_ip {rnic}", f"\tdst_ip {peer}",
            "\tkey_id 100", "\tdst_port 4789", "\tcsum pipe",
            f"\t index {number} ref 1 bind 1 installed 20 sec used 1 sec", "\tAction statistics:",
            f"\tSent 20580 bytes {packets} pkt (dropped 0, overlimits 0 requeues 0) ",
            f"\tSent software {0 if in_hw else 20580} bytes {0 if in_hw else packets} pkt",
            f"\tSent hardware {20580 if in_hw else 0} bytes {packets if in_hw else 0} pkt",
            "\tbacklog 0b 0p requeues 0", f"\tcookie 0000000{number}111122223333444444444444",
            "\tno_percpu", "",
            "\taction order 2: mirred (Egress Redirect to device vxlan_sys_4789) stolen",
            f" \tindex {number} ref 1 bind 1 installed 20 sec used 1 sec", " \tAction statistics:",
            f"\tSent 20580 bytes {packets} pkt (dropped 0, overlimits 0 requeues 0) ", "",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def evidence(host: str = "h1", **changes: Any) -> Evidence:
    """The last document of a request for counters about incident I1."""
    known: dict[str, Any] = {
        "request_id": f"I1.1.{host}", "kind": "counters", "node_sn": host, "fabric": "f1",
        "incident_id": "I1", "number": 1, "time": rfc3339(START_S * 10**9), "state": "complete",
    }  # fmt: skip
    return Evidence(**(known | changes))


def counters(
    rnic: str, before: dict[str, int], after: dict[str, int], host: str = "h1", **changes: Any
) -> Evidence:
    """Two readings of the port of an rnic, 30 s apart."""
    read = [
        DeviceCounters("eth0", rfc3339((START_S + 30 * n) * 10**9), values, rnic)
        for n, values in enumerate((before, after))
    ]
    return evidence(host, counters=read, **changes)


def flow_tables(host: str, *texts: str, **changes: Any) -> list[Evidence]:
    """A document for each reading of the flow tables of a host, as its agent sends them."""
    request_id, last = f"I1.1.{host}-flows", len(texts)
    return [
        evidence(
            host,
            request_id=request_id,
            kind="flow_table",
            number=number,
            flow_table=text,
            state="complete" if number == last else "running",
            **changes,
        )
        for number, text in enumerate(texts, 1)
    ]
