"""The agent's command line."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, field
from ipaddress import IPv4Network, ip_address
from typing import Final, NoReturn

from probers.agent.ping_list import RESPONDER_PORT, Layer
from probers.net.packet import KEY_VARIABLE, MIN_KEY_BYTES, Key
from probers.publishing.relay import Client
from probers.publishing.signer import KEY_FILE_VARIABLE, SenderKeyError, read_key
from schemas import kafka_client
from schemas.kafka_client import KafkaOptionError
from schemas.printable import printable
from schemas.secret_files import SecretFileError, read_secret
from schemas.signing.keys import HostKey

_EXAMPLE: Final = """\
example:
  skeletonhunter-agent --ping-list http://controller:8080/pinglist/host-17 \\
      --publish kafka:broker-1:9092 --key-file /etc/skeletonhunter/probe.key \\
      --sender-key-file /etc/skeletonhunter/sender.key \\
      --node-sn host-17 --fabric f1 --allow-cidr 10.0.0.0/8

exit codes: 0 stopped by SIGTERM or SIGINT; 2 wrong usage or unreadable input;
            3 the place to publish to cannot be reached; 70 an internal error, with its
            traceback in a file
"""


class UsageError(ValueError):
    """Wrong usage or unreadable input; one line: what, where, what to do."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything the agent is told at its start."""

    ping_list: str
    publish: str
    node_sn: str
    fabric: str | None
    key: Key
    listen_port: int
    interval_s: float
    trace_interval_s: float
    timeout_s: float
    burst: int
    allowed: tuple[IPv4Network, ...]
    max_rate: float
    answer_rate: float
    list_interval_s: float
    connect_timeout_s: float
    layer: Layer | None
    node_id: str | None
    encoding: str
    compression: str
    relay_listen: tuple[tuple[str, Client | None], ...]
    health_listen: tuple[str, int] | None
    engine: str
    sender_key: HostKey | None = field(repr=False)
    kafka: dict[str, str] = field(repr=False)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, as everything this command says when it is used wrongly."""
        print(f"{self.prog}: {printable(message)}; see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def parse(argv: list[str] | None) -> Options:
    """Options from the command line; raises UsageError, or SystemExit from argparse."""
    args = _parser().parse_args(argv)
    sender_key = _sender_key(args)
    return Options(
        ping_list=args.ping_list,
        publish=args.publish,
        node_sn=args.node_sn,
        fabric=args.fabric or (sender_key.fabric if sender_key else None),
        key=_read_key(args.key_file),
        listen_port=args.listen_port,
        interval_s=args.interval,
        trace_interval_s=args.trace_interval,
        timeout_s=args.timeout,
        burst=args.burst,
        allowed=tuple(args.allow_cidr or [IPv4Network("127.0.0.0/8")]),
        max_rate=args.max_rate,
        answer_rate=args.answer_rate,
        list_interval_s=args.list_interval,
        connect_timeout_s=args.connect_timeout,
        layer=args.layer,
        node_id=args.node_id,
        encoding=args.encoding,
        compression=args.compression,
        relay_listen=tuple(args.relay_listen or ()),
        health_listen=args.health_listen,
        engine=args.engine,
        sender_key=sender_key,
        kafka=_kafka(args.kafka_option),
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="skeletonhunter-agent",
        description="Probes the paths of a ping list, answers keyed probes, publishes records.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--ping-list", required=True, metavar="FILE|URL", help="whom to probe; re-read regularly")
    add("--publish", required=True, metavar="PLACE", help="unix:PATH, kafka:HOST:PORT, file:PATH")
    add("--node-sn", required=True, metavar="SN", help="this host's serial number")
    add("--fabric", metavar="NAME", help="refuse lists of another fabric (default: the list's)")
    add("--key-file", metavar="PATH", help=f"shared probe key, >= {MIN_KEY_BYTES} bytes; "
        f"or environment variable {KEY_VARIABLE}")  # fmt: skip
    add("--listen-port", type=_port, default=RESPONDER_PORT, metavar="PORT",
        help="the responder's UDP port on each own endpoint (default %(default)s)")  # fmt: skip
    add("--interval", type=_positive, default=1.0, metavar="S",
        help="between probes of a five-tuple (default %(default)s; lists may say)")  # fmt: skip
    add("--trace-interval", type=_not_negative, default=60.0, metavar="S",
        help="between traceroutes of one five-tuple; 0: none (default %(default)s)")  # fmt: skip
    add("--timeout", type=_positive, default=0.5, metavar="S",
        help="a probe without an answer is lost after this (default %(default)s)")  # fmt: skip
    add("--burst", type=_count, default=1, metavar="N", help="probes per record (default 1)")
    add("--allow-cidr", type=_network, action="append", metavar="NET",
        help="may be probed, repeatable; no list lifts it (default 127.0.0.0/8)")  # fmt: skip
    add("--max-rate", type=_positive, default=500.0, metavar="N",
        help="questions a second; no list lifts it (default %(default)g)")  # fmt: skip
    add("--answer-rate", type=_positive, default=200.0, metavar="N",
        help="answers a second to one source address (default %(default)g)")  # fmt: skip
    add("--list-interval", type=_positive, default=10.0, metavar="S",
        help="between readings of the list (default %(default)s)")  # fmt: skip
    add("--connect-timeout", type=_positive, default=10.0, metavar="S",
        help="for reaching the place to publish to at start (default %(default)s)")  # fmt: skip
    add("--layer", choices=("overlay", "underlay"), help="serve only this layer of the list")
    add("--node-id", metavar="ID", help="serve only this container's endpoints of the list")
    add("--engine", choices=("udp", "rdma"), default="udp",
        help="UDP_PING, or RDMA_PING (so far by hand: python -m probers.rdma.ping)")  # fmt: skip
    add("--encoding", choices=("arrow", "ndjson"), default="arrow", help="of ping records")
    add("--compression", choices=("zstd", "lz4", "none"), default="zstd", help="Kafka only")
    add("--relay-listen", type=_socket, action="append", metavar="PATH[=NODE_ID[,TENANT]]",
        help="also take records of this host's containers on a unix socket, repeatable; with a "
        "NODE_ID: of that container (and tenant) only")  # fmt: skip
    add("--sender-key-file", metavar="PATH", help="this host's key (`skeletonhunter keys host`), "
        f"with which messages are signed; or environment variable {KEY_FILE_VARIABLE}")  # fmt: skip
    add(
        "--unsigned",
        action="store_true",
        help="publish to Kafka on other machines without a sender's key: anybody could send so",
    )
    add("--kafka-option", action="append", default=[], metavar="NAME=VALUE",
        help="librdkafka setting, repeatable, no secrets; further ones in environment variable "
        f"{kafka_client.OPTIONS_VARIABLE}, the password's file in "
        f"{kafka_client.PASSWORD_VARIABLE}")  # fmt: skip
    add("--health-listen", type=_loopback, metavar="IP:PORT",
        help="serve /metrics, /healthz and /readyz; loopback only (default: none)")  # fmt: skip
    return parser


def _sender_key(args: argparse.Namespace) -> HostKey | None:
    path = args.sender_key_file or os.environ.get(KEY_FILE_VARIABLE)
    if not path:
        scheme, _, brokers = args.publish.partition(":")
        if scheme == "kafka" and not args.unsigned and not kafka_client.is_loopback(brokers):
            raise UsageError(
                f"--publish {args.publish} without --sender-key-file: anybody could send in this "
                "host's name; give the key of `skeletonhunter keys host`, or --unsigned"
            )
        return None
    try:
        return read_key(path, args.node_sn, args.fabric)
    except SenderKeyError as why:
        raise UsageError(str(why)) from why


def _kafka(pairs: list[str]) -> dict[str, str]:
    try:
        return kafka_client.from_environment(os.environ) | kafka_client.parse_pairs(pairs)
    except KafkaOptionError as why:
        raise UsageError(str(why)) from why


def _socket(text: str) -> tuple[str, Client | None]:
    path, named, client = text.partition("=")
    node_id, _, tenant = client.partition(",")
    if not path or (named and not node_id):
        raise argparse.ArgumentTypeError(f"{text!r} is not PATH[=NODE_ID[,TENANT]]")
    return path, Client(node_id, tenant) if named else None


def _read_key(path: str | None) -> Key:
    if path is None:
        key, where = os.environ.get(KEY_VARIABLE, "").encode(), f"variable {KEY_VARIABLE}"
    else:
        try:
            key, where = read_secret(path).rstrip(b"\r\n"), path
        except SecretFileError as why:
            raise UsageError(f"--key-file {why}") from why
    if len(key) < MIN_KEY_BYTES:
        raise UsageError(
            f"{where}: the probe key has {len(key)} bytes; "
            f"give at least {MIN_KEY_BYTES} by --key-file or {KEY_VARIABLE}"
        )
    return Key(key)


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port (1..65535)")
    return port


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _not_negative(text: str) -> float:
    return 0.0 if float(text) == 0 else _positive(text)


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 1000")
    return number


def _loopback(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        if ip_address(host).is_loopback and 0 <= int(port) <= 65535:
            return host, int(port)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text} is not a loopback address; give 127.0.0.1:PORT")


def _network(text: str) -> IPv4Network:
    try:
        return IPv4Network(text)
    except ValueError as why:
        raise argparse.ArgumentTypeError(f"{why}; give a network such as 10.0.0.0/8") from why
