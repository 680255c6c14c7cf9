"""The demo's output: a live table for people (``Screen``), lines for scripts (``Lines``)."""

from __future__ import annotations

from datetime import datetime
from types import TracebackType
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from schemas.documents.incident import Incident
from schemas.printable import printable
from skeletonhunter.diagnosis.report import COLORS, sentence
from skeletonhunter.embedded.demo_state import DemoState
from skeletonhunter.services.lag_notice import LagNotice
from skeletonhunter.terminal import shown
from testbed.scoring.truth import Truth

_SECOND: Final = 1_000_000_000
#: Lag from which it is reported [s of event time], which runs several times as fast as wall time.
_LAG_S: Final = 30.0


def since_start(state: DemoState, time: str) -> float:
    """Event seconds between the start of the simulation and an RFC 3339 time."""
    return datetime.fromisoformat(time).timestamp() - state.simulation.start_ns / _SECOND


class Lines:
    """One line per event: a fault, an incident, a lag."""

    def __init__(self, state: DemoState) -> None:
        self._state = state
        self._console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
        self._injected = 0
        self._printed: dict[str, tuple[str, str]] = {}
        self._lag = LagNotice(_LAG_S)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        return None

    def begin(self, url: str, took_s: float) -> None:
        topology = self._state.simulation.topology
        rnics = sum(len(host.rnics) for host in topology.hosts)
        self._console.print(
            f"page {url} (up in {took_s:.1f} s); {len(topology.hosts)} hosts, {rnics} rnics; "
            f"event time runs {self._state.speed:.1f} times as fast"
        )

    def tick(self) -> None:
        truths = self._state.simulation.truths(int(self._state.now_s))
        for truth in truths[self._injected :]:
            self._console.print(
                f"{since_start(self._state, truth.start):6.0f} s  broken   {_described(truth)}"
            )
        self._injected = len(truths)
        if line := self._lag.line(self._state.lag_s):
            self._console.print(f"{self._state.now_s:6.0f} s  {line}")

    def incident(self, found: Incident) -> None:
        found = shown(found)
        printed = (found.component, found.state.replace("ongoing", "open"))
        if self._printed.get(found.incident_id) == printed:
            return
        self._printed[found.incident_id] = printed
        verb = "cleared" if found.state == "resolved" else "blamed"
        when = found.updated_at if found.state == "resolved" else found.detected_at
        self._console.print(
            f"{since_start(self._state, when):6.0f} s  {verb:<8} "
            f"{found.component} {found.symptom}: {sentence(found)}"
        )


class Screen:
    """A table that is redrawn: faults, incidents, and the seconds between them."""

    def __init__(self, state: DemoState) -> None:
        self._state = state
        self._url = ""
        console = Console(markup=False, emoji=False)
        self._live = Live(console=console, refresh_per_second=4, transient=False)

    def __enter__(self) -> Screen:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.update(self.picture())
        self._live.__exit__(kind, error, trace)

    def begin(self, url: str, took_s: float) -> None:
        self._url = url
        self.tick()

    def tick(self) -> None:
        self._live.update(self.picture())

    def incident(self, found: Incident) -> None:
        del found
        self.tick()

    def picture(self) -> Group:
        """The screen as it is now."""
        state = self._state
        title = Text.assemble(
            ("SkeletonHunter", "bold"), "   page ", (self._url, "underline"),
            f"   event time {state.now_s:.0f} of {state.length_s} s, {state.speed:.1f} x   "
            f"{state.records:,} records",
        )  # fmt: skip
        if (lag_s := state.lag_s) > _LAG_S:
            title.append(f"   judging is {lag_s:.0f} s behind: this machine is busy", "yellow")
        return Group(title, Text(), self._faults(), Text(), self._incidents())

    def _faults(self) -> Table:
        state = self._state
        table = Table(title="what was broken", title_justify="left", expand=True)
        table.add_column("at", justify="right")
        table.add_column("broken")
        table.add_column("named after", justify="right")
        by_truth = {(m.truth.component, m.truth.start): m for m in state.score().matched}
        for truth in state.simulation.truths(int(state.now_s)):
            match = by_truth.get((truth.component, truth.start))
            after = (
                Text("looking", "dim") if match is None else Text(f"{match.seconds:.0f} s", "green")
            )
            at = f"{since_start(state, truth.start):.0f} s"
            table.add_row(at, Text(_described(truth)), after)
        return table

    def _incidents(self) -> Table:
        table = Table(title="what was blamed, and why", title_justify="left", expand=True)
        for name in ("at", "", "component", "evidence"):
            table.add_column(name, justify="right" if name == "at" else "left", overflow="fold")
        incidents = map(shown, self._state.incidents.values())
        for found in sorted(incidents, key=lambda each: each.detected_at):
            style = "dim" if found.state == "resolved" else COLORS[found.severity]
            at = f"{since_start(self._state, found.detected_at):.0f} s"
            status = "cleared" if found.state == "resolved" else found.severity
            table.add_row(
                at, Text(status, style), Text(found.component, style), Text(sentence(found), style)
            )
        return table


def _described(truth: Truth) -> str:
    innocent = "  (not the network's fault)" if truth.component.startswith("agent:") else ""
    return printable(f"{truth.component} {truth.symptom}{innocent}")
