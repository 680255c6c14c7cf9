"""The agent's options: the command line, the environment, and the keys in files, checked."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from probers.agent.argument_parser import THROUGHPUT_VARIABLE, parser
from probers.net.packet import KEY_VARIABLE, MIN_KEY_BYTES, Key
from probers.ping_list.controller import read_token
from probers.ping_list.document import Layer
from probers.publishing.relay import ClientIdentity
from probers.publishing.signer import KEY_FILE_VARIABLE, SenderKeyError, read_key
from probers.throughput.port_counters import KINDS, Kind
from schemas import kafka_client
from schemas.kafka_client import KafkaOptionError
from schemas.secret_files import SecretFileError, read_secret
from schemas.signing.keys import HostKey


class UsageError(ValueError):
    """Wrong usage or unreadable input; one line: what, where, what to do."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that the agent is given when it starts; secrets are not in the repr."""

    ping_list: str
    controller: str
    token: str = field(repr=False)
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
    request_rate: float
    flow_table_command: tuple[str, ...]
    list_interval_s: float
    connect_timeout_s: float
    layer: Layer | None
    node_id: str | None
    encoding: str
    compression: str
    relay_listen: tuple[tuple[str, ClientIdentity | None], ...]
    health_listen: tuple[str, int] | None
    engine: str
    throughput: Kind | None
    throughput_sources: dict[str, str]
    sender_key: HostKey | None = field(repr=False)
    kafka: dict[str, str] = field(repr=False)


def parse(argv: list[str] | None) -> Options:
    """Options from the command line; raises UsageError, or SystemExit from argparse."""
    args = parser().parse_args(argv)
    sender_key = _sender_key(args)
    return Options(
        ping_list=args.ping_list,
        controller=args.controller,
        token=_token(args.controller, args.token_file),
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
        request_rate=args.request_rate,
        flow_table_command=_command(args.flow_table_command),
        list_interval_s=args.list_interval,
        connect_timeout_s=args.connect_timeout,
        layer=args.layer,
        node_id=args.node_id,
        encoding=args.encoding,
        compression=args.compression,
        relay_listen=tuple(args.relay_listen or ()),
        health_listen=args.health_listen,
        engine=args.engine,
        throughput=_throughput(args),
        throughput_sources=dict(args.throughput_source or ()),
        sender_key=sender_key,
        kafka=_kafka(args.kafka_option),
    )


def _token(controller: str, path: str | None) -> str:
    """The token for the controller; empty without one."""
    if bool(controller) != (path is not None):
        raise UsageError("--controller and --token-file go together; give both or none")
    if controller and not controller.startswith(("http://", "https://")):
        raise UsageError(f"--controller {controller}: give an http(s) URL")
    return read_token(path) if path is not None else ""


def _throughput(args: argparse.Namespace) -> Kind | None:
    """Which counters to read; None: none. An agent of containers only does not see the host's."""
    if args.layer == "overlay" or args.node_id is not None:
        return None
    wanted = args.throughput or os.environ.get(THROUGHPUT_VARIABLE)
    if not wanted:
        return "auto" if args.controller else None
    if wanted == "off":
        return None
    for kind in KINDS:
        if wanted == kind:
            return kind
    raise UsageError(f"{THROUGHPUT_VARIABLE}={wanted}: give one of {', '.join(KINDS)}, off")


def _command(text: str) -> tuple[str, ...]:
    """The argv of a command, which is run without a shell."""
    try:
        argv = tuple(shlex.split(text))
    except ValueError as why:
        raise UsageError(f"--flow-table-command {text!r}: {why}") from why
    if argv and not (os.path.isabs(argv[0]) and os.access(argv[0], os.X_OK)):
        raise UsageError(
            f"--flow-table-command {text!r}: give the full path of a program and its arguments"
        )
    return argv


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
