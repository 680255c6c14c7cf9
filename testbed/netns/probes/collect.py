"""The relay of a fabric that stays up: agents' messages -> files for ``diagnose``, or Kafka.

    python -m testbed.netns.probes.collect --socket DIR/relay.sock --out DIR [--kafka HOST:PORT]

Files: pings.ndjson and heartbeats.ndjson in DIR. Serves until SIGTERM, or until the path that
``--while-there`` names is gone: when the builder of the fabric was killed, no other process ends
the relay.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import Protocol

from probers.publishing.kafka import KafkaPublisher
from probers.publishing.publisher import PublishError, PublishUsageError
from probers.publishing.relay import Headers, Relay, RelayError
from schemas import kafka_client, topics
from schemas.kafka_client import KafkaOptionError
from schemas.printable import printable

_FILES = {topics.PINGS.name: "pings.ndjson", topics.HEARTBEATS.name: "heartbeats.ndjson"}
_STOP = {signal.SIGTERM, signal.SIGINT}
_LOOK_S = 2.0


class Sink(Protocol):
    """The destination of messages."""

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        """Write one message."""

    def close(self) -> None:
        """Deliver what is left and close."""


class Files:
    """Appends messages to files; the agents are started with NDJSON as their encoding."""

    def __init__(self, directory: Path) -> None:
        self._files = {
            topic: (directory / name).open("ab", buffering=0) for topic, name in _FILES.items()
        }

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        """Append a message."""
        self._files[topic].write(payload if payload.endswith(b"\n") else payload + b"\n")

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


class Kafka:
    """Forwards messages unchanged."""

    def __init__(self, bootstrap: str) -> None:
        options = kafka_client.from_environment(os.environ)
        self._publisher = KafkaPublisher(bootstrap, compression="zstd", options=options)
        self._publisher.connect(10.0)

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        """Queue a message."""
        content_type = headers.pop(topics.CONTENT_TYPE).decode()
        self._publisher.publish(topic, key, payload, content_type, headers)
        self._publisher.poll()

    def close(self) -> None:
        """Deliver what is left."""
        self._publisher.close(5.0)


def main(argv: list[str] | None = None) -> int:
    """Serve; returns the exit code."""
    parser = argparse.ArgumentParser(prog="testbed.netns.probes.collect", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kafka")
    parser.add_argument("--while-there", type=Path, default=Path("/"))
    args = parser.parse_args(argv)
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)  # signals are for the main thread
    try:
        sink: Sink = Kafka(args.kafka) if args.kafka else Files(args.out)
        with Relay(args.socket, sink):
            print("ready", flush=True)
            while signal.sigtimedwait(_STOP, _LOOK_S) is None and args.while_there.exists():
                pass
        sink.close()
    except (RelayError, PublishError, PublishUsageError, KafkaOptionError, OSError) as why:
        print(f"fabric relay: {printable(str(why))}", file=sys.stderr)
        return 3 if isinstance(why, PublishError) else 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
