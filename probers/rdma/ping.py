"""``python -m probers.rdma.ping``: the RDMA engine by hand, one JSON line per result.

    respond --device rxe1                      prints its queue pairs, replies until it is stopped
    ping --device rxe0 10.0.0.2/17             uses one own queue pair per target

Both take ``--gid``: an entry of the GID table of port 1, or its address; without it the first one
of the targets' IP version, of a responder the first one of IPv4, else of IPv6. A link-local GID has
to be named by its entry.

The key is read from SKH_PROBE_KEY. Exit codes: 0 done; 2 wrong usage; 3 no device, or it failed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from time import monotonic_ns, time_ns
from typing import Any, Final, Protocol

from probers.net.packet import KEY_VARIABLE, Key
from probers.net.responder import Responder
from probers.rdma.devices import Gid, RdmaError, gid_of
from probers.rdma.engine import ProbeCounts, RdmaProber
from probers.rdma.packet import QpAddress, parse_address
from probers.rdma.port import Port
from probers.rdma.responder import RdmaResponder
from probers.rdma.verbs import VerbsPort
from schemas.addresses import canonical
from schemas.printable import printable

#: A responder polls without a pause for this long after a completion, then with pauses.
_BUSY_POLL_NS: Final = 20_000_000
_PAUSE_S: Final = 0.0005


class OpenPort(Protocol):
    """Opens the device of that name with so many queue pairs; see ``VerbsPort``."""

    def __call__(
        self, device: str, queue_pairs: int, *, gid: Gid | None, ipv6: bool | None
    ) -> Port: ...


def main(
    argv: list[str] | None = None,
    *,
    open_port: OpenPort = VerbsPort,
    now: Callable[[], int] = monotonic_ns,
    wall: Callable[[], int] = time_ns,
) -> int:
    """Run the command; returns the exit code. ``now`` and ``wall`` are the prober's clocks [ns]."""
    args = _parser().parse_args(argv)
    try:
        key = Key(os.environ.get(KEY_VARIABLE, "").encode())
    except ValueError as why:
        return _fail(2, f"variable {KEY_VARIABLE}: {why}")
    try:
        gid = _own_gid(args.device, args.gid)
        if args.command == "respond":
            port = open_port(args.device, args.queue_pairs, gid=gid, ipv6=None)
            _respond(key, port, args.device, args.rate)
        else:
            ipv6 = args.targets[0].ipv6
            if any(target.ipv6 != ipv6 for target in args.targets):
                return _fail(2, "targets are of both IP versions; give those of one")
            port = open_port(args.device, len(args.targets), gid=gid, ipv6=ipv6)
            prober = RdmaProber(key, port, timeout_s=args.timeout, now=now, wall=wall)
            for own, target in enumerate(
                args.targets
            ):  # all before the first probe: no reply waits
                port.prepare(own, target)
            probe_all(prober, args.targets, args.count, args.interval)
            for counts in prober.counts_by_pair.values():
                _print_json(**_summary(counts))
        port.close()
    except RdmaError as why:
        return _fail(3, str(why))
    return 0


def _own_gid(device: str, text: str | None) -> Gid | None:
    if text is None:
        return None
    return Gid(device, 1, int(text)) if text.isdecimal() else gid_of(text, device=device)


def _respond(key: Key, port: Port, device: str, rate: float) -> None:
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda caught, _: stopping.append(caught))
    admission = Responder(key, rate=rate, burst=2 * rate)
    responder = RdmaResponder(key, port, admission)
    _print_json(device=device, queue_pairs=[str(address) for address in port.addresses])
    active_ns = monotonic_ns()
    while not stopping:
        if responder.poll():
            active_ns = monotonic_ns()
        elif monotonic_ns() - active_ns > _BUSY_POLL_NS:
            time.sleep(_PAUSE_S)
    _print_json(answered=admission.answered, silent=dict(admission.silent))


def probe_all(
    prober: RdmaProber, targets: Sequence[QpAddress], count: int, interval_s: float
) -> None:
    """Send ``count`` probes to each target, all targets at the same time, and await their ends.

    Each target has an own queue pair, so that a lossy path delays no other. A target's next probe
    waits until its last one has ended: a slow machine builds no queue.
    """
    interval_ns = int(interval_s * 1e9)
    due_ns = [monotonic_ns()] * len(targets)
    left = [count] * len(targets)
    while any(left) or prober.in_flight:
        while prober.poll():
            pass
        for own, target in enumerate(targets):
            if left[own] and due_ns[own] <= monotonic_ns() and not prober.waiting(own, target):
                due_ns[own], left[own] = monotonic_ns() + interval_ns, left[own] - 1
                prober.probe(own, target)


def _summary(counts: ProbeCounts) -> dict[str, Any]:
    line: dict[str, Any] = {
        "src": str(counts.own), "dst": str(counts.target), "sent": counts.sent, "lost": counts.lost,
        "whole": sum(each.consistent for each in counts.round_trips),
    }  # fmt: skip
    for name in ("rtt_us", "prober_us", "responder_us"):
        values = [getattr(each, name) for each in counts.round_trips]
        known = [value for value in values if value is not None]
        if known:
            line[name] = {"min": round(min(known), 1), "median": round(median(known), 1),
                          "max": round(max(known), 1)}  # fmt: skip
    return line


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m probers.rdma.ping", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True)
    respond = commands.add_parser("respond", help="reply to authenticated probes")
    ping = commands.add_parser("ping", help="probe responders' queue pairs")
    for command in (respond, ping):
        command.add_argument("--device", required=True, metavar="NAME", help="such as rxe0")
        command.add_argument("--gid", type=_gid, metavar="ENTRY|ADDRESS",
            help="own one (default: the first RoCEv2 one that is not link-local)")  # fmt: skip
    respond.add_argument("--queue-pairs", type=_count, default=1, metavar="N")
    respond.add_argument("--rate", type=_positive, default=1000.0, metavar="N",
        help="replies a second to one address (default %(default)g)")  # fmt: skip
    ping.add_argument("targets", nargs="+", type=_address, metavar="ADDRESS/QPN")
    ping.add_argument("--count", type=_count, default=10, metavar="N", help="probes per target")
    ping.add_argument("--interval", type=_positive, default=0.01, metavar="S",
        help="between two probes of one target (default %(default)s)")  # fmt: skip
    ping.add_argument("--timeout", type=_positive, default=0.5, metavar="S",
        help="a probe without a reply is lost after this (default %(default)s)")  # fmt: skip
    return parser


def _address(text: str) -> QpAddress:
    try:
        return parse_address(text)
    except ValueError as why:
        raise argparse.ArgumentTypeError(str(why)) from why


def _gid(text: str) -> str:
    try:
        return text if text.isdecimal() else canonical(text)
    except ValueError as why:
        raise argparse.ArgumentTypeError(f"{why}; give a GID's entry or its address") from why


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 100_000:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 100000")
    return number


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _print_json(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def _fail(code: int, why: str) -> int:
    print(f"rdma_ping: {printable(why)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
