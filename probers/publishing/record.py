"""Measurements -> ping records: columns, and the keys of extra_stats as typed columns."""

from __future__ import annotations

import json
from itertools import pairwise
from statistics import median

from probers.net.five_tuple import FiveTuple, Value
from probers.ping_list.document import Endpoint, Target
from probers.probing.traceroute import Trace
from probers.probing.udp import Burst

Record = dict[str, Value]


def common_columns(fabric: str, node_sn: str, own: Endpoint, target: Target) -> Record:
    """The columns common to all records of ``own`` -> ``target``; empty ones are left out."""
    columns: Record = {
        "agent_type": own.layer,
        "dscp": target.dscp,
        "src_idc": fabric,
        "dst_idc": fabric,
        "src_node_sn": node_sn,
        "dst_node_sn": target.node_sn,
    }
    for name in ("ip", "real_ip", "node_id", "asw", "dsw", "pod", "tenant_id"):
        columns[f"src_{name}"] = getattr(own, name)
        columns[f"dst_{name}"] = getattr(target, name)
    return {name: value for name, value in columns.items() if value != ""}


def ping_record(burst: Burst, cpu_steal: float, task: str = "UDP_PING") -> Record:
    """One record of a ping, with the columns of its five-tuple."""
    return {**burst.flow.columns, **ping_columns(burst, cpu_steal, task)}


def ping_columns(burst: Burst, cpu_steal: float, task: str = "UDP_PING") -> Record:
    """What one record of a ping has beside the columns of its five-tuple.

    ``latency`` is the median of the burst [us]. ``loss_rate`` is null when no probe was sent (the
    own kernel refused, or the process did not run): there is no evidence of the network.
    ``cpu_steal`` is a share with at most four decimals.
    """
    if burst.dials == ["success"] and len(burst.round_trips) == 1:  # as most are: nothing to sort
        rtt_us, prober_us, responder_us, kernel = burst.round_trips[0]
        record: Record = {
            "src_port": burst.flow.src[1],
            "dst_port": burst.flow.dst[1],
            "task_type": task,
            "dial": "success",
            "ping_time": burst.sent_ns,
            "task_start_time": burst.started_ns,
            "loss_rate": 0.0,
            "sent": 1,
            "lost": 0,
            "cpu_steal": cpu_steal,
            "latency": rtt_us,
            "prober_delay_us": prober_us,
            "timestamp": "kernel" if kernel else "user",
        }
        if responder_us is not None:
            record["responder_delay_us"] = responder_us
        return record
    record = _start(burst.flow, task, burst.dial, burst.sent_ns, burst.started_ns)
    record["loss_rate"] = burst.lost / burst.sent if burst.sent else None
    record["sent"], record["lost"] = burst.sent, burst.lost
    record["cpu_steal"] = cpu_steal
    rtts = sorted(each.rtt_us for each in burst.round_trips)
    if not rtts:
        return record
    record["latency"] = round(median(rtts), 3)
    record["prober_delay_us"] = round(median(each.prober_us for each in burst.round_trips), 3)
    delays = [each.responder_us for each in burst.round_trips if each.responder_us is not None]
    if delays:
        record["responder_delay_us"] = round(median(delays), 3)
    record["timestamp"] = "kernel" if all(each.kernel for each in burst.round_trips) else "user"
    if burst.size > 1:
        record["p50_us"] = record["latency"]
        record["p99_us"] = round(rtts[max(0, -(-99 * len(rtts) // 100) - 1)], 3)
        record["jitter_us"] = _jitter_us([each.rtt_us for each in burst.round_trips])
    return record


def trace_record(trace: Trace) -> Record:
    """One record of a route, with the columns of its five-tuple."""
    return {**trace.flow.columns, **trace_columns(trace)}


def trace_columns(trace: Trace) -> Record:
    """What one TRACEROUTE record has beside the columns of its five-tuple; its route is complete
    only when dial is success or refused."""
    record = _start(trace.flow, "TRACEROUTE", trace.dial, trace.sent_ns, trace.started_ns)
    record["route"] = json.dumps(trace.hops, separators=(",", ":"))
    if trace.dial == "success" and trace.rtt_us is not None:
        record["latency"] = round(trace.rtt_us, 3)
        record["timestamp"] = "user"
    return record


def _start(flow: FiveTuple, task: str, dial: str, sent_ns: int, started_ns: int) -> Record:
    return {
        "src_port": flow.src[1],
        "dst_port": flow.dst[1],
        "task_type": task,
        "dial": dial,
        "ping_time": sent_ns,
        "task_start_time": started_ns,
    }


def _jitter_us(rtts: list[float]) -> float | None:
    if len(rtts) < 2:
        return None
    steps = [abs(b - a) for a, b in pairwise(rtts)]
    return round(sum(steps) / len(steps), 3)
