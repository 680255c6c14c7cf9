"""Reads the command line, probes the targets in turn, prints what they showed."""

from __future__ import annotations

import argparse
import json
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic_ns
from typing import Final

from probers.agentless.engine import AgentlessEngine
from probers.agentless.icmp import IcmpEngine
from probers.agentless.tcp import TcpEngine
from probers.command_line.argument_parser import make_parser, network, positive
from probers.command_line.options import UsageError, read_probe_key
from probers.net import addresses
from probers.net.addresses import at_port
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.probe.rdma import RdmaByHand
from probers.probe.summary import Summary
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop
from probers.publishing.record import ping_record
from probers.rdma.devices import RdmaError
from probers.rdma.scheduled.rnic import OpenPort, open_port
from schemas.addresses import canonical

LOST: Final = 1
MAX_RATE: Final = 1000.0  # probes a second, of all targets together
_TASKS: Final = {"icmp": "ICMP_PING", "rdma": "RDMA_PING", "tcp": "TCP_PING", "udp": "UDP_PING"}
_EXAMPLE: Final = """\
examples:
  skeletonhunter-agent probe --engine tcp --to 10.0.0.7:22 --allow-cidr 10.0.0.0/8
  skeletonhunter-agent probe --engine icmp --to 2001:db8::7 --allow-cidr 2001:db8::/32
  skeletonhunter-agent probe --engine udp --to 10.0.0.7:65300 --key-file probe.key \\
      --from 10.0.0.5:50001 --allow-cidr 10.0.0.0/8 --format json

  skeletonhunter-agent probe --engine rdma --to 10.0.0.7:65300 --key-file probe.key \\
      --from 10.0.0.5 --allow-cidr 10.0.0.0/8

exit codes: 0 all probes were answered; 1 some were not; 2 wrong usage
"""


def run(argv: list[str], open_port: OpenPort = open_port) -> int:
    """Probe; returns the exit code. Raises UsageError.

    open_port  opens the rnic of an own address, for RDMA
    """
    args = _parser().parse_args(argv)
    targets = [_target(text, args.engine) for text in args.to]
    for ip, _ in targets:
        if not addresses.allowed(ip, args.allow_cidr):
            raise UsageError(f"--to {ip} is outside of --allow-cidr; add its network")
    if len(targets) * args.burst / args.interval > MAX_RATE:
        raise UsageError(f"more than {MAX_RATE:g} probes a second; raise --interval")
    summaries = {to: Summary(to) for to in targets}
    task = _TASKS[args.engine]

    def on_done(burst: Burst, to: Address) -> None:
        summaries[to].add(burst)
        if args.format == "json":
            print(json.dumps(ping_record(burst, 0.0, task)), flush=True)

    failures: list[Exception] = []
    loop = Loop(failures.append)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: loop.stop())
    flows = [FiveTuple(_own(args.source, to), to) for to in targets]
    probe, close = _engine(args, loop, flows, on_done, open_port)
    _schedule(args, loop, flows, probe)
    try:
        loop.run()
    finally:
        close()
        loop.close()
    if failures:
        raise failures[0]
    if args.format == "text":
        for each in summaries.values():
            print(each.line)
    answered = all(each.sent and not each.lost for each in summaries.values())
    return 0 if answered else LOST


def _engine(
    args: argparse.Namespace,
    loop: Loop,
    flows: list[FiveTuple],
    on_done: Callable[[Burst, Address], None],
    open_port: OpenPort,
) -> tuple[Callable[[FiveTuple, int], None], Callable[[], None]]:
    """What probes, and what ends it."""

    def done(burst: Burst) -> None:
        on_done(burst, burst.flow.dst)

    if args.engine in ("tcp", "icmp"):
        agentless: AgentlessEngine
        if args.engine == "tcp":
            agentless = TcpEngine(loop, done, timeout_s=args.timeout)
        else:
            agentless = icmp = IcmpEngine(loop, done, timeout_s=args.timeout)
            for flow in flows:
                if (why := icmp.refusal(flow.src)) is not None:
                    raise UsageError(why)
        return agentless.probe, agentless.close
    key = read_probe_key(args.key_file)
    sockets = SocketPool(loop, key, Responder(key, rate=1.0, burst=1.0), MAX_RATE, len(args.to) + 1)
    if args.engine == "rdma":
        rdma = RdmaByHand(
            loop, key, sockets, on_done, _complain, timeout_s=args.timeout, open_port=open_port
        )
        try:
            for flow in flows:
                rdma.open(flow.src[0])
        except RdmaError as why:
            raise UsageError(str(why)) from why
        return rdma.probe, rdma.close
    udp = UdpEngine(loop, sockets, done, timeout_s=args.timeout)
    return udp.probe, lambda: sockets.close_except(())


def _complain(why: str) -> None:
    print(f"skeletonhunter-agent probe: {why}", file=sys.stderr)


def _schedule(
    args: argparse.Namespace,
    loop: Loop,
    flows: list[FiveTuple],
    probe: Callable[[FiveTuple, int], None],
) -> None:
    """Probe all targets ``count`` times; stop when the last probes have had their time."""
    first_ns, interval_ns = monotonic_ns(), int(args.interval * 1e9)
    for turn in range(args.count):
        for index, flow in enumerate(flows):
            due_ns = first_ns + turn * interval_ns + index * interval_ns // len(flows)
            loop.call_at(due_ns, partial(probe, flow, args.burst))
    last_ns = first_ns + args.count * interval_ns
    # TCP probes one after another; over RDMA a lost probe is asked about.
    waits = {"tcp": args.burst, "rdma": 3}.get(args.engine, 1)
    patience_s = args.timeout * waits + 0.1
    loop.call_at(last_ns + int(patience_s * 1e9), loop.stop)


def _own(source: Address | None, to: Address) -> Address:
    """The address and source port that the kernel chooses where none is given; the same for all
    probes of a target, since ECMP fixes the route per five-tuple."""
    with socket.socket(addresses.family_of(to[0]), socket.SOCK_DGRAM) as asked:
        try:
            if source is not None:
                asked.bind(source)
            asked.connect((to[0], to[1] or 1))
        except OSError as why:  # gaierror: the other IP version's address
            begin = "" if source is None else f"from {at_port(source)} "
            raise UsageError(f"{begin}to {to[0]}: {why.strerror}") from why
        ip, port, *_ = asked.getsockname()
        return str(ip), int(port)


def _parser() -> argparse.ArgumentParser:
    made = make_parser(
        "skeletonhunter-agent probe", "Probes some targets and says what they answer.", _EXAMPLE
    )
    add = made.add_argument
    add("--engine", choices=sorted(_TASKS), required=True, help="udp: the target runs an agent "
        "with the same key; rdma: one with --engine rdma; tcp, icmp: any host, a closed port "
        "answers too")  # fmt: skip
    add("--to", action="append", required=True, metavar="IP:PORT",
        help="or [IPV6]:PORT, or with icmp the address alone; repeatable")  # fmt: skip
    add("--from", dest="source", type=_source, metavar="IP[:PORT]",
        help="own address, and a fixed source port (default: the kernel's choice)")  # fmt: skip
    add("--count", type=int, default=10, metavar="N", help="times (default %(default)s)")
    add("--interval", type=positive, default=0.2, metavar="S", help="(default %(default)s)")
    add("--burst", type=int, choices=range(1, 101), default=1, metavar="N",
        help="probes at a time (default %(default)s)")  # fmt: skip
    add("--timeout", type=positive, default=0.5, metavar="S", help="(default %(default)s)")
    add("--allow-cidr", type=network, action="append", default=[*addresses.LOOPBACK],
        metavar="NET", help="may be probed, with loopback; repeatable")  # fmt: skip
    add("--key-file", metavar="PATH", help="the probe key, for udp and rdma")
    add("--format", choices=("text", "json"), default="text", help="json: a record per line")
    return made


def _target(text: str, engine: str) -> Address:
    """Where a probe goes; echoes have no port: 0."""
    try:
        if engine == "icmp":
            return canonical(text), 0
        return addresses.parse_at_port(text)
    except ValueError as why:
        example = "10.0.0.7 (icmp has no port)" if engine == "icmp" else "10.0.0.7:22 or [::1]:22"
        raise UsageError(f"--to {text}: give an address as {example}") from why


def _source(text: str) -> Address:
    with suppress(ValueError):
        return canonical(text), 0
    try:
        return addresses.parse_at_port(text)
    except ValueError as why:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not IP or IP:PORT, as 10.0.0.7, 10.0.0.7:50001 or [::1]:50001"
        ) from why


def main(argv: list[str]) -> int:
    """``run``, with wrong usage as one line."""
    try:
        return run(argv)
    except UsageError as why:
        _complain(str(why))
        return 2
