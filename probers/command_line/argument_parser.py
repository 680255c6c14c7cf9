"""The agent's command line: every option with its type, default and help text."""

from __future__ import annotations

import argparse
import re
import sys
from ipaddress import ip_address
from typing import Final, NoReturn

from probers.agentless.probing import TCP_PORT
from probers.net import addresses
from probers.net.addresses import Network
from probers.net.packet import KEY_VARIABLE, MIN_KEY_BYTES
from probers.ping_list.document import RESPONDER_PORT
from probers.publishing.relay import ClientIdentity
from probers.publishing.signer import KEY_FILE_VARIABLE
from probers.rdma.devices import Gid
from probers.throughput.port_counters import KINDS
from schemas import kafka_client
from schemas.addresses import canonical
from schemas.printable import printable

#: What --throughput is where it is not given.
THROUGHPUT_VARIABLE: Final = "SKH_THROUGHPUT"

_EXAMPLE: Final = """\
example:
  skeletonhunter-agent --controller https://controller:8770 --token-file host-17.token \\
      --publish kafka:broker-1:9092 --key-file /etc/skeletonhunter/probe.key \\
      --sender-key-file /etc/skeletonhunter/sender.key \\
      --node-sn host-17 --fabric f1 --allow-cidr 10.0.0.0/8

  skeletonhunter-agent doctor ...        # the same options: what this host lacks, and exit code 1
  skeletonhunter-agent probe --help      # one engine by hand

exit codes: 0 stopped by SIGTERM or SIGINT; 2 wrong usage or unreadable input;
            3 the destination of --publish cannot be reached; 70 an internal error, its
            traceback in a file
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Wrong usage is one line on stderr."""
        print(f"{self.prog}: {printable(message)}; see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def make_parser(prog: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """A parser that says what is wrong in one line."""
    return _Parser(
        prog=prog, description=description, epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """The parser of ``skeletonhunter-agent``."""
    made = make_parser(
        "skeletonhunter-agent",
        "Probes the paths of a ping list, answers keyed probes, publishes records.",
        _EXAMPLE,
    )
    add = made.add_argument
    source = made.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--ping-list", default="", metavar="FILE|URL", help="what to probe; re-read regularly"
    )
    source.add_argument("--controller", action="append", metavar="URL",
        help="or the controller, with which the agent registers its host; repeatable: several, of "
        "which one leads, are asked in turn")  # fmt: skip
    source.add_argument("--host-agent", default="", metavar="PATH",
        help="or the socket of the host's agent (its --containers-listen): this is a container's "
        "agent, in the container's network")  # fmt: skip
    add("--token-file", metavar="PATH",
        help="this host's token for --controller (`skeletonhunter keys token`)")  # fmt: skip
    add("--publish", required=True, metavar="PLACE", help="unix:PATH, kafka:HOST:PORT, file:PATH")
    add("--spool", default="", metavar="FOLDER", help="keep messages to Kafka on disk until the "
        "broker has them; a folder for each agent (default: in memory, for 60 s)")  # fmt: skip
    add("--spool-mbytes", type=positive, default=256.0, metavar="MB",
        help="of disk for --spool; then the oldest are dropped (default %(default)g)")  # fmt: skip
    add("--spool-hours", type=positive, default=24.0, metavar="H",
        help="older messages in --spool are dropped (default %(default)g)")  # fmt: skip
    add("--node-sn", required=True, metavar="SN", help="this host's serial number")
    add("--fabric", metavar="NAME", help="refuse lists of another fabric (default: the list's)")
    add("--key-file", metavar="PATH", help=f"shared probe key, >= {MIN_KEY_BYTES} bytes; "
        f"or environment variable {KEY_VARIABLE}")  # fmt: skip
    add("--listen-port", type=_port, default=RESPONDER_PORT, metavar="PORT",
        help="the responder's UDP port on each own endpoint (default %(default)s)")  # fmt: skip
    add("--interval", type=positive, default=1.0, metavar="S",
        help="between probes of a five-tuple; lists may set it (default %(default)s)")  # fmt: skip
    add("--trace-interval", type=_not_negative, default=60.0, metavar="S",
        help="between traceroutes of one five-tuple; 0: none (default %(default)s)")  # fmt: skip
    add("--timeout", type=positive, default=0.5, metavar="S",
        help="a probe without a reply is lost after this (default %(default)s)")  # fmt: skip
    add("--burst", type=_count, default=1, metavar="N", help="probes per record (default 1)")
    add("--allow-cidr", type=network, action="append", metavar="NET",
        help="may be probed, repeatable; no list extends it (default 127.0.0.0/8)")  # fmt: skip
    add("--max-rate", type=positive, default=500.0, metavar="N",
        help="requests a second; no list raises it (default %(default)g)")  # fmt: skip
    add("--answer-rate", type=positive, default=200.0, metavar="N",
        help="replies a second to one source address (default %(default)g)")  # fmt: skip
    add("--request-rate", type=_not_negative, default=50.0, metavar="N",
        help="packets a second for the controller's requests; 0: it does none (default "
        "%(default)g)")  # fmt: skip
    add("--flow-table-command", action="append", metavar="COMMAND",
        help="prints a flow table when the controller asks for it, without a shell, repeatable; "
        "e.g. '/usr/bin/ovs-ofctl --names dump-flows br0' (default: none)")  # fmt: skip
    add("--list-interval", type=positive, default=10.0, metavar="S",
        help="between readings of the list (default %(default)s)")  # fmt: skip
    add("--connect-timeout", type=positive, default=10.0, metavar="S",
        help="for reaching --publish's destination at start (default %(default)s)")  # fmt: skip
    add("--layer", choices=("overlay", "underlay"), help="serve only this layer of the list")
    add("--node-id", metavar="ID", help="serve only this container's endpoints of the list")
    add("--engine", choices=("udp", "rdma", "tcp", "icmp"), action="append",
        help="beside UDP_PING, repeatable: tcp, icmp: TCP_PING, ICMP_PING of all targets, which "
        "hosts without an agent answer too; rdma: RDMA_PING of underlay targets")  # fmt: skip
    add("--tcp-port", type=_port, default=TCP_PORT, metavar="PORT",
        help="of --engine tcp; open or closed, it answers (default %(default)s)")  # fmt: skip
    add_rdma(made)
    add("--encoding", choices=("arrow", "ndjson"), default="arrow", help="of ping records")
    add("--compression", choices=("zstd", "lz4", "none"), default="zstd", help="Kafka only")
    add("--relay-listen", type=_relay_socket, action="append", metavar="PATH[=NODE_ID[,TENANT]]",
        help="also relay records of this host's containers from a unix socket, repeatable; with a "
        "NODE_ID: of that container (and tenant) only; without, and with --containers-listen: of "
        "the container that connects")  # fmt: skip
    add("--throughput", choices=(*KINDS, "off"), help="measure the throughput of the rnics that "
        "containers use: counters of the RDMA port (rdma), of the interface (net), of the latter "
        "where there is no former (auto), or not (off); default: environment variable "
        f"{THROUGHPUT_VARIABLE}, else auto with --controller and off without; always off with "
        "--layer overlay or --node-id")  # fmt: skip
    add("--throughput-source", type=_source, action="append", metavar="IP=SOURCE",
        help="counters of the rnic with this address: rdma:DEVICE/PORT or net:INTERFACE, "
        "repeatable")  # fmt: skip
    add("--containers-listen", default="", metavar="PATH",
        help="a unix socket on which containers get their lists and say that they are ready; to be "
        "mounted into them")  # fmt: skip
    add("--handover", default="", metavar="PATH",
        help="a unix socket: take over the sockets of the agent that serves it, then serve it, so "
        "that no probe meets a closed port while the agent is updated")  # fmt: skip
    add("--sender-key-file", metavar="PATH", help="this host's key (`skeletonhunter keys host`), "
        f"with which messages are signed; or environment variable {KEY_FILE_VARIABLE}")  # fmt: skip
    add(
        "--unsigned",
        action="store_true",
        help="publish to Kafka on other machines without a sender's key: anybody could do so",
    )
    add("--kafka-option", action="append", default=[], metavar="NAME=VALUE",
        help="librdkafka setting, repeatable, no secrets; further ones in environment variable "
        f"{kafka_client.OPTIONS_VARIABLE}, the password's file in "
        f"{kafka_client.PASSWORD_VARIABLE}")  # fmt: skip
    add("--health-listen", type=_own_address, metavar="IP:PORT",
        help="serve /metrics, /healthz and /readyz; on an address other than loopback only with "
        "--health-from (default: none)")  # fmt: skip
    add("--health-from", type=network, action="append", metavar="CIDR",
        help="addresses that may ask --health-listen beside this host itself, repeatable, such as "
        "those of Prometheus (default: none)")  # fmt: skip
    return made


def add_rdma(made: argparse.ArgumentParser) -> None:
    """The options of --engine rdma."""
    add = made.add_argument
    add("--rdma-queue-pairs", type=int, choices=range(1, 65), default=4, metavar="N",
        help="of each rnic, with --engine rdma; each probes each target from a source port of its "
        "own (default %(default)s)")  # fmt: skip
    add("--rdma-gid", type=_gid, action="append", metavar="IP=DEVICE/PORT/INDEX",
        help="GID of the rnic with this address, repeatable (default: the first RoCEv2 one with "
        "it; link-local ones have to be named)")  # fmt: skip
    add("--rdma-service-level", type=int, choices=range(16), default=0, metavar="N",
        help="of RDMA probes and answers (default %(default)s)")  # fmt: skip
    add("--rdma-traffic-class", type=int, choices=range(256), metavar="N",
        help="of RDMA probes and answers (default: four times the list's DSCP)")  # fmt: skip


def _gid(text: str) -> tuple[str, Gid]:
    address, _, place = text.partition("=")
    found = re.fullmatch(r"([\w.-]+)/([1-9]\d{0,2})/(\d{1,3})", place)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not IP=DEVICE/PORT/INDEX, as 10.0.0.1=mlx5_0/1/3"
        )
    try:
        return canonical(address), Gid(found[1], int(found[2]), int(found[3]))
    except ValueError as why:
        raise argparse.ArgumentTypeError(f"{why}; give IP=DEVICE/PORT/INDEX") from why


def _relay_socket(text: str) -> tuple[str, ClientIdentity | None]:
    path, named, client = text.partition("=")
    node_id, _, tenant = client.partition(",")
    if not path or (named and not node_id):
        raise argparse.ArgumentTypeError(f"{text!r} is not PATH[=NODE_ID[,TENANT]]")
    return path, ClientIdentity(node_id, tenant) if named else None


def _source(text: str) -> tuple[str, str]:
    address, _, source = text.partition("=")
    try:
        address = canonical(address)
    except ValueError as why:
        raise argparse.ArgumentTypeError(f"{why}; give IP=SOURCE") from why
    if not re.fullmatch(r"rdma:[\w.-]+/\d+|net:[^\s/]{1,15}", source):
        raise argparse.ArgumentTypeError(
            f"{source!r} is not rdma:DEVICE/PORT or net:INTERFACE, as rdma:mlx5_0/1"
        )
    return address, source


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port (1..65535)")
    return port


def positive(text: str) -> float:
    """A number above 0, for argparse."""
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _not_negative(text: str) -> float:
    return 0.0 if float(text) == 0 else positive(text)


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 1000")
    return number


def _own_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        address = ip_address(host)
        one = not (address.is_unspecified or address.is_multicast)
        if one and 0 <= int(port) <= 65535:
            return host, int(port)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f"{text} is not a loopback address, nor another one with a port; give 127.0.0.1:PORT"
    )


def network(text: str) -> Network:
    """A network, for argparse."""
    try:
        return addresses.network(text)
    except ValueError as why:
        raise argparse.ArgumentTypeError(
            f"{why}; give a network such as 10.0.0.0/8 or 2001:db8::/32"
        ) from why
