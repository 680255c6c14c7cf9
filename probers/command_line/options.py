"""The agent's options: the command line, the environment, and the keys in files, checked."""

from __future__ import annotations

import argparse
import os
import shlex
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from probers.agentless.probing import KINDS as AGENTLESS_KINDS
from probers.agentless.probing import AgentlessOptions
from probers.command_line.argument_parser import THROUGHPUT_VARIABLE, parser
from probers.net.addresses import LOOPBACK, Network
from probers.net.packet import KEY_VARIABLE, MIN_KEY_BYTES, Key
from probers.ping_list.controller import read_token
from probers.ping_list.controllers import MAX_CONTROLLERS
from probers.ping_list.document import Layer
from probers.publishing.relay import ClientIdentity
from probers.publishing.signer import KEY_FILE_VARIABLE, SenderKeyError, read_key
from probers.publishing.spool import SpoolLimits
from probers.rdma.scheduled.rnic import RdmaOptions
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
    controllers: tuple[str, ...]
    host_agent: str
    containers_listen: str
    handover: str
    token: str = field(repr=False)
    publish: str
    spool: str
    spool_limits: SpoolLimits
    node_sn: str
    fabric: str | None
    key: Key
    listen_port: int
    interval_s: float
    trace_interval_s: float
    timeout_s: float
    burst: int
    allowed: tuple[Network, ...]
    max_rate: float
    answer_rate: float
    request_rate: float
    flow_table_commands: tuple[tuple[str, ...], ...]
    list_interval_s: float
    connect_timeout_s: float
    layer: Layer | None
    node_id: str | None
    encoding: str
    compression: str
    relay_listen: tuple[tuple[str, ClientIdentity | None], ...]
    health_listen: tuple[str, int] | None
    health_from: tuple[Network, ...]
    rdma: RdmaOptions | None
    agentless: AgentlessOptions | None
    throughput: Kind | None
    throughput_sources: dict[str, str]
    sender_key: HostKey | None = field(repr=False)
    kafka: dict[str, str] = field(repr=False)

    @property
    def scope(self) -> str:
        """Which part of the host the agent serves, as in heartbeats. A container that does not know
        its node_id is known by its host name."""
        name = self.node_id or (socket.gethostname() if self.host_agent else "")
        return f"{self.layer or ''}/{name}".removesuffix("/")


def parse(argv: list[str] | None) -> Options:
    """Options from the command line; raises UsageError, or SystemExit from argparse."""
    args = parser().parse_args(argv)
    sender_key, controllers = _sender_key(args), _controllers(args.controller)
    return Options(
        ping_list=args.ping_list,
        controllers=controllers,
        host_agent=args.host_agent,
        containers_listen=args.containers_listen,
        handover=args.handover,
        token=_token(controllers, args.token_file),
        publish=args.publish,
        spool=args.spool,
        spool_limits=SpoolLimits(
            max_bytes=int(args.spool_mbytes * 1e6), max_age_s=args.spool_hours * 3600
        ),
        node_sn=args.node_sn,
        fabric=args.fabric or (sender_key.fabric if sender_key else None),
        key=read_probe_key(args.key_file),
        listen_port=args.listen_port,
        interval_s=args.interval,
        trace_interval_s=args.trace_interval,
        timeout_s=args.timeout,
        burst=args.burst,
        allowed=tuple(args.allow_cidr or LOOPBACK),
        max_rate=args.max_rate,
        answer_rate=args.answer_rate,
        request_rate=args.request_rate,
        flow_table_commands=tuple(map(_command, args.flow_table_command or ())),
        list_interval_s=args.list_interval,
        connect_timeout_s=args.connect_timeout,
        layer=_layer(args),
        node_id=args.node_id,
        encoding=args.encoding,
        compression=args.compression,
        relay_listen=tuple(args.relay_listen or ()),
        health_listen=_health_listen(args),
        health_from=tuple(args.health_from or ()),
        rdma=_rdma(args),
        agentless=_agentless(args),
        throughput=_throughput(args),
        throughput_sources=dict(args.throughput_source or ()),
        sender_key=sender_key,
        kafka=_kafka(args.kafka_option),
    )


def _health_listen(args: argparse.Namespace) -> tuple[str, int] | None:
    """The server's address. Others can reach one that is not loopback, so who may ask is said."""
    place: tuple[str, int] | None = args.health_listen
    if place is not None and not ip_address(place[0]).is_loopback and not args.health_from:
        raise UsageError(
            f"--health-listen: {place[0]} is not a loopback address; say with --health-from who "
            "may ask, or give 127.0.0.1:PORT"
        )
    return place


def _controllers(given: Sequence[str] | None) -> tuple[str, ...]:
    """URLs of controllers: the option may be repeated, and hold several with commas."""
    urls = tuple(dict.fromkeys(url for text in given or () for url in text.split(",") if url))
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"--controller {url}: give an http(s) URL")
    if len(urls) > MAX_CONTROLLERS:
        raise UsageError(f"--controller: {len(urls)} URLs; give {MAX_CONTROLLERS} at most")
    return urls


def _token(controllers: Sequence[str], path: str | None) -> str:
    """The token for the controllers; empty without one."""
    if bool(controllers) != (path is not None):
        raise UsageError("--controller and --token-file go together; give both or none")
    return read_token(path) if path is not None else ""


def _layer(args: argparse.Namespace) -> Layer | None:
    """Containers have agents of their own: the host's agent serves its rnics, they the overlay."""
    needed: Layer | None = None
    if args.containers_listen:
        needed, option = "underlay", "--containers-listen"
        if args.node_id is not None or args.host_agent:
            raise UsageError("--containers-listen is for a host's agent, not for a container's")
    if args.host_agent:
        needed, option = "overlay", "--host-agent"
    if needed is None or args.layer is None:
        found: Layer | None = needed or args.layer
        return found
    if args.layer != needed:
        raise UsageError(f"{option} serves the {needed}; leave out --layer {args.layer}")
    return needed


def _throughput(args: argparse.Namespace) -> Kind | None:
    """Which counters to read; None: none. An agent of containers only does not see the host's."""
    if args.layer == "overlay" or args.node_id is not None or args.host_agent:
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


def _rdma(args: argparse.Namespace) -> RdmaOptions | None:
    if "rdma" not in (args.engine or ()):
        return None
    if _layer(args) == "overlay":
        raise UsageError("--engine rdma probes the underlay; this agent serves the overlay")
    return RdmaOptions(
        args.rdma_queue_pairs, dict(args.rdma_gid or ()), args.rdma_service_level,
        args.rdma_traffic_class,
    )  # fmt: skip


def _agentless(args: argparse.Namespace) -> AgentlessOptions | None:
    kinds = frozenset(kind for kind in AGENTLESS_KINDS if kind in (args.engine or ()))
    return AgentlessOptions(kinds, args.tcp_port) if kinds else None


def _command(text: str) -> tuple[str, ...]:
    """The argv of a command, which is run without a shell."""
    try:
        argv = tuple(shlex.split(text))
    except ValueError as why:
        raise UsageError(f"--flow-table-command {text!r}: {why}") from why
    if not argv or not (os.path.isabs(argv[0]) and os.access(argv[0], os.X_OK)):
        raise UsageError(
            f"--flow-table-command {text!r}: give the full path of a program and its arguments"
        )
    return argv


def read_probe_key(path: str | None) -> Key:
    """The probe key from a file, or from the environment: one line, or two while the fabric changes
    its key; raises UsageError."""
    if path is None:
        text, where = os.environ.get(KEY_VARIABLE, "").encode(), f"variable {KEY_VARIABLE}"
    else:
        try:
            text, where = read_secret(path), path
        except SecretFileError as why:
            raise UsageError(f"--key-file {why}") from why
    keys = text.rstrip(b"\r\n").replace(b"\r\n", b"\n").split(b"\n")
    if len(keys) > 2:
        raise UsageError(
            f"{where}: {len(keys)} lines; give the probe key, and in a second line the other one "
            "while the fabric changes it"
        )
    for key in keys:
        if len(key) < MIN_KEY_BYTES:
            raise UsageError(
                f"{where}: the probe key has {len(key)} bytes; "
                f"give at least {MIN_KEY_BYTES} by --key-file or {KEY_VARIABLE}"
            )
    return Key(*keys)


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
