"""The catalogue of issue types: issue_types.toml as data, and the page generated from it."""

from __future__ import annotations

from importlib import resources
from typing import Final, Literal

import msgspec

Effect = Literal[
    "loss", "latency", "queue", "drift", "host", "inside", "crash", "host_down", "agent",
    "starved", "clock", "none",
]  # fmt: skip
Layer = Literal["underlay", "overlay", "host", "agent"]


class IssueType(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"class_": "class"},
):
    """One row; the head of issue_types.toml explains the fields.

    magnitude, range    share lost at each crossing | added round trip [us] | growth an hour [1] |
                        share of seconds without CPU | clock offset [s]
    issue_type          name in the catalogue of 19 that a fault outside of it comes closest to
    """

    name: str
    on: tuple[str, ...]
    symptom: str
    effect: Effect
    layer: Layer
    magnitude: float
    class_: str
    note: str
    number: int | None = None
    issue_type: str | None = None
    seen_in: Literal["both", "overlay"] = "both"
    one_way: bool = False
    share: float = 1.0
    range_share: tuple[float, float] | None = None
    range: tuple[float, float] | None = None
    period_s: int = 0
    duty: float = 0.5
    counters: tuple[str, ...] = ()
    flow_table: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def catalogue_name(self) -> str | None:
        """The ``issue_type`` in truth.json: the published name, None where none fits."""
        return self.name if self.number else self.issue_type

    @property
    def observable(self) -> bool:
        """Whether probes can show it at all."""
        return self.effect != "none"


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    type: tuple[IssueType, ...]


def _read() -> tuple[IssueType, ...]:
    raw = (resources.files("testbed") / "issue_types.toml").read_bytes()
    return msgspec.toml.decode(raw, type=_Table).type


#: Every row, the published 19 first.
TABLE: Final = _read()
#: The published ones by name.
PUBLISHED: Final = {row.name: row for row in TABLE if row.number}

_UNITS: Final = {
    "loss": "{:.0%} of packets lost", "crash": "all lost", "latency": "+{:g} us",
    "queue": "up to +{:g} us", "drift": "+{:.0%} an hour", "host": "+{:g} us", "inside": "+{:g} us",
    "starved": "{:.0%} of seconds", "clock": "{:g} s off",
}  # fmt: skip


_UNDECIDED: Final = """\
## What stays open

[What hosts answer](localization.md#counters-and-flow-tables) decides some types, and leaves these:

- **rnic_hardware_failure** is stated where the rnic's interface is gone. Where its device, port and
  address look well and everything is lost, nothing on the host says that the rnic and not the next
  port drops it: the type stays a probability.
- **offloading_failure, not_using_rdma, suboptimal_flow_offloading, repetitive_flow_offloading** are
  decided by flow tables, where the agent has `--flow-table-command`. Without them a slow rnic may
  as well have firmware that crawls: offloading_failure stays a probability.
- **hugepage_misconfiguration** is stated where the pool is smaller than what the kernel's command
  line asks for, or than it was when the agent began. A pool without free pages proves nothing: a
  vSwitch in user space takes all of its pages when it starts. What such a process needs is not in
  the kernel's counters; a pool that was planned too small is known by probes only.
- **pcie_nic_error** is told from hugepage_misconfiguration by probes: between rnics of one host
  they are much later than to others. A host that is slow at each end of a path is twice as late
  there, which is not enough. The state of PCIe links is not read.
- **gpu_direct_rdma_error** is seen by nothing that an agent reads.

On the namespace fabric all hosts share one kernel and its huge pages, its vSwitches are bridges
that offload nothing, and an rnic that fails drops packets while its device stays: there the first
three are left to probes.
""".splitlines()


def markdown() -> str:
    """docs/issue-types.md."""
    lines = [
        "# Issue types and their signatures",
        "",
        "Generated from `testbed/issue_types.toml` by `python -m testbed.faults.issue_types`; a "
        "test holds this page to it.",
        "What a fault does to probes, which evidence it leaves elsewhere, and what probes alone"
        " cannot tell from it.",
        "",
    ]
    for title, rows in (
        ("The 19 published types", [row for row in TABLE if row.number]),
        ("Other faults of the testbed", [row for row in TABLE if not row.number]),
    ):
        lines += [
            f"## {title}",
            "",
            "| # | type | on | symptom | probes see | leaves | cannot be told from |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [_line(row) for row in rows]
        lines += ["", *(f"- **{row.name}**: {row.note}" for row in rows), ""]
    lines += [*_UNDECIDED, ""]
    return "\n".join(lines)


def _line(row: IssueType) -> str:
    also = f" (also {', '.join(row.aliases)})" if row.aliases else ""
    evidence = [*row.counters, *([f"flow table: {row.flow_table}"] if row.flow_table else [])]
    cells = [
        str(row.number or ""), f"{row.name}{also}", ", ".join(row.on), row.symptom,
        _effect(row), "; ".join(evidence) or "-", row.class_ or "not observable",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _effect(row: IssueType) -> str:
    if not row.observable:
        return "nothing"
    parts = [_UNITS.get(row.effect, "silence").format(row.magnitude)]
    if row.range:
        low, high = row.range
        parts.append(f"(range {low:g} to {high:g})")
    if row.effect == "queue":
        parts.append("following the bursts")
    if row.share < 1:
        parts.append(f"on {row.share:.0%} of five-tuples")
    if row.period_s:
        parts.append(f"for {row.duty:.0%} of every {row.period_s} s")
    if row.one_way:
        parts.append("in one direction or both")
    if row.seen_in == "overlay":
        parts.append("in the overlay only")
    return " ".join(parts)


if __name__ == "__main__":
    print(markdown(), end="")
