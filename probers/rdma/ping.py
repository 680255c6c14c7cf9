"""``python -m probers.rdma.ping``: the RDMA engine by hand, one JSON line per result.

    respond --device rxe1                      prints its queue pairs, answers until it is stopped
    ping --device rxe0 10.0.0.2/17             one own queue pair for each target given

The key is taken from SKH_PROBE_KEY. Exit codes: 0 done; 2 wrong usage; 3 no device, or it failed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from statistics import median
from time import monotonic_ns
from typing import Any, Final

from probers.net.packet import KEY_VARIABLE, Key
from probers.net.responder import Responder
from probers.rdma.engine import ProbeCounts, RdmaProber, RdmaResponder
from probers.rdma.packet import QpAddress, parse_address
from probers.rdma.verbs import RdmaError, VerbsPort
from schemas.printable import printable

#: A responder looks without pause for so long after the last completion, then naps in between.
_AWAKE_NS: Final = 20_000_000
_NAP_S: Final = 0.0005


def main(argv: list[str] | None = None) -> int:
    """Run; returns the exit code."""
    args = _parser().parse_args(argv)
    try:
        key = Key(os.environ.get(KEY_VARIABLE, "").encode())
    except ValueError as why:
        return _fail(2, f"variable {KEY_VARIABLE}: {why}")
    try:
        if args.command == "respond":
            _respond(key, args.device, args.queue_pairs, args.rate)
        else:
            _ping(key, args.device, args.targets, args.count, args.interval, args.timeout)
    except RdmaError as why:
        return _fail(3, str(why))
    return 0


def _respond(key: Key, device: str, queue_pairs: int, rate: float) -> None:
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda caught, _: stopping.append(caught))
    port = VerbsPort(device, queue_pairs)
    doorman = Responder(key, rate=rate, burst=2 * rate)
    responder = RdmaResponder(key, port, doorman)
    _say(device=device, queue_pairs=[str(address) for address in port.addresses])
    active = monotonic_ns()
    while not stopping:
        if responder.turn():
            active = monotonic_ns()
        elif monotonic_ns() - active > _AWAKE_NS:
            time.sleep(_NAP_S)
    _say(answered=doorman.answered, silent=dict(doorman.silent))
    port.close()


def _ping(
    key: Key,
    device: str,
    targets: Sequence[QpAddress],
    count: int,
    interval_s: float,
    timeout_s: float,
) -> None:
    """Probe all targets at once, each from its own queue pair, so that a lossy path holds up no
    other. A target's next probe waits until the last is settled: a slow machine builds no queue."""
    port = VerbsPort(device, len(targets))
    for target in targets:  # all before the first probe: no answer waits meanwhile
        port.prepare(target)
    prober = RdmaProber(key, port, timeout_s=timeout_s)
    interval_ns = int(interval_s * 1e9)
    due = [monotonic_ns()] * len(targets)
    left = [count] * len(targets)
    while any(left) or prober.in_flight:
        while prober.turn():
            pass
        for own, target in enumerate(targets):
            if left[own] and due[own] <= monotonic_ns() and not prober.waiting(own, target):
                due[own], left[own] = monotonic_ns() + interval_ns, left[own] - 1
                prober.ask(own, target)
    for tally in prober.tallies.values():
        _say(**_summary(tally))
    port.close()


def _summary(tally: ProbeCounts) -> dict[str, Any]:
    line: dict[str, Any] = {
        "src": str(tally.own), "dst": str(tally.target), "sent": tally.sent, "lost": tally.lost,
        "whole": sum(trip.whole for trip in tally.trips),
    }  # fmt: skip
    for name in ("rtt_us", "prober_us", "responder_us"):
        values = [getattr(trip, name) for trip in tally.trips]
        known = [value for value in values if value is not None]
        if known:
            line[name] = {"min": round(min(known), 1), "median": round(median(known), 1),
                          "max": round(max(known), 1)}  # fmt: skip
    return line


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m probers.rdma.ping", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True)
    respond = commands.add_parser("respond", help="answer keyed probes")
    ping = commands.add_parser("ping", help="probe responders' queue pairs")
    for command in (respond, ping):
        command.add_argument("--device", required=True, metavar="NAME", help="such as rxe0")
    respond.add_argument("--queue-pairs", type=_count, default=1, metavar="N")
    respond.add_argument("--rate", type=_positive, default=1000.0, metavar="N",
        help="answers a second to one address (default %(default)g)")  # fmt: skip
    ping.add_argument("targets", nargs="+", type=_address, metavar="ADDRESS/QPN")
    ping.add_argument("--count", type=_count, default=10, metavar="N", help="probes per target")
    ping.add_argument("--interval", type=_positive, default=0.01, metavar="S",
        help="between two probes of one target (default %(default)s)")  # fmt: skip
    ping.add_argument("--timeout", type=_positive, default=0.5, metavar="S",
        help="a probe without an answer is lost after this (default %(default)s)")  # fmt: skip
    return parser


def _address(text: str) -> QpAddress:
    try:
        return parse_address(text)
    except ValueError as why:
        raise argparse.ArgumentTypeError(str(why)) from why


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


def _say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def _fail(code: int, why: str) -> int:
    print(f"rdma_ping: {printable(why)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
