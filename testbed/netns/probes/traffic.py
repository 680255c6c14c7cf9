"""Traffic of a training job between containers: bursts around a ring, again and again.

    python -m testbed.netns.probes.traffic --pair 172.16.0.1=172.16.1.1 --bytes 200000 \\
        --begin 1790000000 --round 4 --rounds 10

In each round, each container sends to the next one of each rail, as a ring all-reduce does, with
pauses as while it computes. All containers are given the same begin; the burst of a round lies
within its first second. Runs in a container's network.
"""

from __future__ import annotations

import argparse
import selectors
import socket
import sys
import time
from collections.abc import Sequence

PORT = 47_000
PAYLOAD_BYTES = 1_200
_BEGIN_S, _LENGTH_S = 0.2, 0.5  # of the burst, in the first second of a round
_STEPS = 50  # of a burst


def rounds(
    pairs: Sequence[tuple[str, str]], size: int, begin_s: int, round_s: int, count: int
) -> None:
    """Send ``size`` bytes over each pair of addresses (own, next) in each of ``count`` rounds."""
    selector = selectors.DefaultSelector()
    own: dict[str, socket.socket] = {}
    for address, _ in pairs:
        own[address] = made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((address, PORT))
        made.setblocking(False)
        selector.register(made, selectors.EVENT_READ)
    for number in range(count):
        for step in range(_STEPS):
            at_s = begin_s + number * round_s + _BEGIN_S + _LENGTH_S * step / _STEPS
            _discard_until(selector, at_s)
            due, done = (size * each // _STEPS // PAYLOAD_BYTES for each in (step + 1, step))
            for address, peer in pairs:
                for _ in range(due - done):
                    own[address].sendto(bytes(PAYLOAD_BYTES), (peer, PORT))
    _discard_until(selector, begin_s + count * round_s)


def _discard_until(selector: selectors.BaseSelector, at_s: float) -> None:
    """Drop what arrives until a time."""
    while (left_s := at_s - time.time()) > 0:
        for key, _ in selector.select(left_s):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.recv(2 * PAYLOAD_BYTES)


def main(argv: list[str] | None = None) -> int:
    """Send; returns the exit code."""
    parser = argparse.ArgumentParser(prog="testbed.netns.probes.traffic", description=__doc__)
    parser.add_argument("--pair", action="append", required=True, metavar="OWN=NEXT")
    parser.add_argument("--bytes", type=int, required=True, help="over a pair in a round")
    parser.add_argument("--begin", type=int, required=True, help="seconds since the epoch")
    parser.add_argument("--round", type=int, default=4, help="length of a round [s]")
    parser.add_argument("--rounds", type=int, required=True)
    args = parser.parse_args(argv)
    pairs = [(own, peer) for own, _, peer in (pair.partition("=") for pair in args.pair)]
    rounds(pairs, args.bytes, args.begin, args.round, args.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
