"""Text that ``tc -s filter show dev DEVICE ingress`` prints -> typed flows. Pure.

Open vSwitch with ``hw-offload`` gives its flows to the kernel as flower filters, and the kernel
offers them to the rnic: ``in_hw`` and ``not_in_hw`` say what became of it. Packets are counted with
``-s`` only. Written after tc(8), tc-flower(8) and what iproute2 prints; not tried on an rnic that
offloads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

#: The begin of a filter; without a handle it is the head of a priority and has no fields.
_FILTER: Final = re.compile(r"filter (?:.* )?protocol (\S+) pref (\d+) (\S+)(?: chain (\d+))?")
_HANDLE: Final = re.compile(r" handle (0x[0-9a-f]+)")
_ACTION: Final = re.compile(r"action order \d+: +(.+)")
_SENT: Final = re.compile(r"Sent \d+ bytes (\d{1,18}) pkt")
_COOKIE: Final = re.compile(r"cookie ([0-9a-f]+)")
_STATES: Final = ("in_hw", "not_in_hw", "skip_hw", "skip_sw")
_TUNNEL_SET: Final = "tunnel_key set"


@dataclass(frozen=True, slots=True)
class Filter:
    """A flower filter.

    name      of all filters of a device: preference, chain and handle
    fields    as printed, one each; actions: the first line of each, with one space between words
    packets   of the action that counted most; in_hw: the rnic has it
    cookie    Open vSwitch's id of the flow; empty: none
    own_ip    address of the tunnel's end on this host; empty: no tunnel
    """

    name: str
    fields: tuple[str, ...]
    actions: tuple[str, ...]
    packets: int
    in_hw: bool
    cookie: str = ""
    own_ip: str = ""


@dataclass(slots=True)
class _Reading:
    name: str
    fields: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    packets: int = 0
    state: str = ""
    cookie: str = ""
    own_ip: str = ""

    def line(self, text: str) -> None:
        """Read one line below the filter's head."""
        words = [*text.split(), ""]
        if (action := _ACTION.match(text)) is not None:
            self.actions.append(" ".join(action[1].split()))
        elif (sent := _SENT.match(text)) is not None:
            self.packets = max(self.packets, int(sent[1]))
        elif self.actions:
            if (cookie := _COOKIE.match(text)) is not None:
                self.cookie = self.cookie or cookie[1]
            elif words[0] == "src_ip" and self.actions[-1].startswith(_TUNNEL_SET):
                self.own_ip = words[1]
        elif words[0] in _STATES:
            self.state = words[0] if words[0].endswith("in_hw") else self.state
        else:
            self.fields.append(text)
            if words[0] == "enc_dst_ip":
                self.own_ip = words[1]

    def done(self) -> Filter:
        return Filter(
            self.name, tuple(self.fields), tuple(self.actions), self.packets,
            self.state == "in_hw", self.cookie, self.own_ip,
        )  # fmt: skip


def is_head(line: str) -> bool:
    """Whether a line begins a filter, of whatever kind."""
    return _FILTER.match(line) is not None


def filters(lines: Sequence[str]) -> Iterator[Filter]:
    """The flower filters of stripped lines; those of other kinds are passed over."""
    reading: _Reading | None = None
    for line in lines:
        if (head := _FILTER.match(line)) is not None:
            if reading is not None:
                yield reading.done()
            handle = _HANDLE.search(line)
            flower = handle is not None and head[3] == "flower"
            name = f"pref {head[2]} chain {head[4] or 0} handle {handle[1] if handle else ''}"
            reading = _Reading(name) if flower else None
        elif reading is not None and line:
            reading.line(line)
    if reading is not None:
        yield reading.done()
