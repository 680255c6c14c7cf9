"""Text that Open vSwitch prints -> typed flows. Pure.

One text may hold several dumps, each below a line ``$ command`` as agents write it:

    ovs-ofctl dump-flows BRIDGE         rules of OpenFlow tables
    ovs-appctl dpctl/dump-flows [-m]    flows of the datapath; with type=offloaded, of the rnic
    tc -s filter show dev DEV ingress   the same flows as filters (``tc_filters``)

Fields that are not known are kept as they are, and lines that hold no flow are passed over; a text
without one line that a dump would have is none. Ports are as printed: give ``--names``, so that
they are names. Format: ovs-ofctl(8), ovs-dpctl(8).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from localizer.host_evidence.parameters import DEFAULT, HostEvidenceParameters
from localizer.host_evidence.printed import tc_filters
from schemas.addresses import canonical

_COMMAND: Final = "$ "
#: What a dump may say besides its flows: one of them makes an empty dump a dump.
_HEADS: Final = re.compile(r"(NXST_FLOW|OFPST_FLOW|OFPT_)\S* reply|flow-dump from |cookie=0x")
_KNOWN_PROGRAMS: Final = ("dump-flows",)
_META: Final = frozenset({
    "cookie", "duration", "n_packets", "n_bytes", "idle_age", "hard_age", "idle_timeout",
    "hard_timeout", "importance", "send_flow_rem", "no_packet_counts", "no_byte_counts",
    "check_overlap", "reset_counts",
})  # fmt: skip
_NEVER_OFFLOADED: Final = ("userspace(", "recirc(", "drop", "controller(", "gact action drop")
#: Neighbor discovery and other IPv6 to a group: no rnic forwards it, as it forwards no ARP.
_NEIGHBORS: Final = re.compile(
    r"\bnd\(|icmpv6\(type=13[3-7]\b|ip_proto icmpv6,.*icmp_type 13[3-7]\b"
    r"|\b(?:dst=|dst_mac )33:33:"
)
_IP: Final = ("eth_type(0x0800)", "eth_type(0x86dd)", "eth_type ipv4", "eth_type ipv6")
_TC: Final = re.compile(r"(\S*/)?tc( .*)? filter ")
_TUNNEL: Final = re.compile(r"(?<![a-z])tunnel\(([^()]*(?:\([^()]*\)[^()]*)*)\)")


class NoDump(ValueError):
    """A text that no known command prints."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of an OpenFlow table.

    match    field -> value, as printed; a flag such as ``ip`` has the value ""
    actions  as printed, in order; empty: drop
    """

    table: int
    priority: int
    match: Mapping[str, str]
    actions: tuple[str, ...]
    packets: int = 0

    def __str__(self) -> str:
        fields = [name + (f"={value}" if value else "") for name, value in self.match.items()]
        shown = ",".join([f"priority={self.priority}", *fields])
        return f"table={self.table},{shown} actions={','.join(self.actions) or 'drop'}"


@dataclass(frozen=True, slots=True)
class DatapathFlow:
    """A flow of the datapath, in software or in the rnic.

    key        the flow's own id (ufid) where it is printed, else its match without masked fields
    match, actions  as printed
    offloaded  the line says that the rnic has it
    own_ip     address of the tunnel's end on this host; empty: not printed, or no tunnel
    """

    key: str
    match: str
    actions: str
    packets: int
    offloaded: bool
    own_ip: str = ""

    @property
    def may_be_offloaded(self) -> bool:
        """An rnic could forward it: IP to one place, and not by way of a program."""
        if not any(kind in self.match for kind in _IP):
            return False
        if _NEIGHBORS.search(self.match):
            return False
        actions = self.actions.strip()
        return bool(actions) and not actions.startswith(_NEVER_OFFLOADED)


@dataclass(frozen=True, slots=True)
class Dump:
    """What one command printed.

    command    as in the line above it; empty: not known
    bridge     of rules; "" where the command does not say
    rules      of OpenFlow tables; flows: of the datapath
    from_rnic  only what is offloaded was asked for
    of_tc      filters, each of which says whether the rnic has it
    """

    command: str = ""
    bridge: str = ""
    rules: list[Rule] = field(default_factory=list)
    flows: list[DatapathFlow] = field(default_factory=list)
    from_rnic: bool = False
    of_tc: bool = False

    @property
    def of_datapath(self) -> bool:
        """It is about the datapath, though it may be empty."""
        return bool(self.flows) or self.of_tc or "dpctl" in self.command


def parse(text: str, parameters: HostEvidenceParameters = DEFAULT) -> list[Dump]:
    """The dumps of a text, in order; raises NoDump where it is none."""
    found = []
    for command, lines in _sections(text):
        dump = _dump(command, lines, parameters.rules)
        if dump is not None:
            found.append(dump)
    if not found:
        begin = " ".join(text.split())[:80]
        raise NoDump(
            f"no dump of Open vSwitch: {begin!r}; give ovs-ofctl dump-flows BRIDGE or "
            "ovs-appctl dpctl/dump-flows or tc -s filter show dev DEVICE ingress as "
            "--flow-table-command"
        )
    return found


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    command, lines = "", list[str]()
    for line in text.splitlines():
        if line.startswith(_COMMAND):
            if lines or command:
                yield command, lines
            command, lines = line.removeprefix(_COMMAND).strip(), []
        else:
            lines.append(line.strip())
    yield command, lines


def _dump(command: str, lines: list[str], most: int) -> Dump | None:
    words = command.split()
    if (_TC.match(command) and not any(lines)) or any(map(tc_filters.is_head, lines)):
        found = islice(tc_filters.filters(lines), most)
        return Dump(command, flows=[_of_tc(each, words) for each in found], of_tc=True)
    asked = any(word.endswith(_KNOWN_PROGRAMS) for word in words)
    dump = Dump(command, _bridge(command), from_rnic="type=offloaded" in words)
    known = asked and not lines
    for line in lines:
        if len(dump.rules) + len(dump.flows) >= most:
            break
        known = known or (asked and not line) or _HEADS.match(line) is not None
        if " actions=" in line and (rule := _rule(line)) is not None:
            dump.rules.append(rule)
        elif ", packets:" in line and "actions:" in line:
            dump.flows.append(_flow(line, from_rnic=dump.from_rnic))
    return dump if known or dump.rules or dump.flows else None


def _of_tc(found: tc_filters.Filter, words: list[str]) -> DatapathFlow:
    """A filter as a flow; its key is Open vSwitch's id, else its place on the device."""
    device = words[words.index("dev") + 1] if "dev" in words[:-1] else ""
    key = f"cookie:{found.cookie}" if found.cookie else f"{device} {found.name}"
    match, actions = ",".join(found.fields), ",".join(found.actions)
    return DatapathFlow(key, match, actions, found.packets, found.in_hw, spelled(found.own_ip))


def _bridge(command: str) -> str:
    """The bridge of ``ovs-ofctl [options] dump-flows BRIDGE``, by its name or its socket."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    if "dump-flows" not in words[:-1]:
        return ""
    named = words[words.index("dump-flows") + 1]
    return named.rpartition("/")[2].removesuffix(".mgmt") if ":" in named else named


def _rule(line: str) -> Rule | None:
    head, _, tail = line.partition(" actions=")
    table, priority, packets, match = 0, 32_768, 0, dict[str, str]()  # 0x8000 is the default
    try:
        for each in split(head):
            name, _, value = each.strip().partition("=")
            if name == "table":
                table = int(value)
            elif name == "priority":
                priority = int(value)
            elif name == "n_packets":
                packets = int(value)
            elif name and name not in _META:
                match[name] = value.strip('"')
    except ValueError:  # a table by its name, or a line that was cut
        return None
    actions = tuple(each.strip() for each in split(tail) if each.strip() not in ("", "drop"))
    return Rule(table, priority, match, actions, packets)


def _flow(line: str, *, from_rnic: bool) -> DatapathFlow:
    head, _, tail = line.partition(", packets:")
    stats, _, actions = tail.partition("actions:")
    actions = actions.partition(", dp-extra-info:")[0].strip()
    parts = [each.strip() for each in split(head) if each.strip()]
    ufid = next((each for each in parts if each.startswith("ufid:")), "")
    match = ",".join(
        plain for each in parts if not each.startswith("ufid:") and (plain := _unmasked(each))
    )
    digits = stats.partition(",")[0].strip()
    shown = stats.replace(" ", "")
    offloaded = from_rnic or "offloaded:yes" in shown or "offloaded:partial" in shown
    packets = int(digits) if digits.isdecimal() else 0
    return DatapathFlow(ufid or match, match, actions, packets, offloaded, _own_ip(match, actions))


def _unmasked(part: str) -> str:
    """A field without what its mask ignores; empty where nothing is left."""
    name, bracket, inside = part.partition("(")
    if not bracket:
        return part
    kept = []
    for each in split(inside.removesuffix(")")):
        _, slash, mask = each.rpartition("/")
        if not slash or mask.strip("0x:.+-"):
            kept.append(each)
    return f"{name}({','.join(kept)})" if kept else ""


def _own_ip(match: str, actions: str) -> str:
    """This host's end of the tunnel: destination of what comes, source of what goes."""
    for text, names in ((match, ("dst", "ipv6_dst")), (actions, ("src", "ipv6_src"))):
        for inside in _TUNNEL.findall(text):
            for each in split(inside):
                name, _, value = each.strip().partition("=")
                if name in names:
                    return spelled(value.partition("/")[0])
    return ""


def spelled(address: str) -> str:
    """An IP address in its canonical spelling, by which rnics are named; other text as it is."""
    try:
        return canonical(address)
    except ValueError:
        return address


def split(text: str) -> Iterator[str]:
    """Parts between commas that are in no brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "," and depth <= 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
