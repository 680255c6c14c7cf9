"""What the demo shows: a live table for people, lines for scripts."""

from __future__ import annotations

from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from schemas.documents.incident import Incident
from schemas.printable import printable
from skeletonhunter.diagnosis.report import COLOURS, sentence
from skeletonhunter.lag import LagNotice
from skeletonhunter.terminal import shown

if TYPE_CHECKING:
    from skeletonhunter.commands.demo import DemoState
    from testbed.scoring.truth import Truth

_SECOND: Final = 1_000_000_000
_TELL_S: Final = 30.0  # of event time, which runs several times as fast


def since_start(show: DemoState, time: str) -> float:
    """Event seconds since the beginning of the show."""
    return datetime.fromisoformat(time).timestamp() - show.simulation.start_ns / _SECOND


class Lines:
    """One line an event, as it happens."""

    def __init__(self, show: DemoState) -> None:
        self._show = show
        self._console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
        self._injected = 0
        self._said: dict[str, tuple[str, str]] = {}
        self._lag = LagNotice(_TELL_S)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        return None

    def begin(self, url: str, took_s: float) -> None:
        topology = self._show.simulation.topology
        rnics = sum(len(host.rnics) for host in topology.hosts)
        self._console.print(
            f"page {url} (up in {took_s:.1f} s); {len(topology.hosts)} hosts, {rnics} rnics; "
            f"event time runs {self._show.speed:.1f} times as fast"
        )

    def tick(self) -> None:
        truths = self._show.simulation.truths(int(self._show.now_s))
        for truth in truths[self._injected :]:
            self._console.print(
                f"{since_start(self._show, truth.start):6.0f} s  broken   {_what(truth)}"
            )
        self._injected = len(truths)
        if line := self._lag.line(self._show.lag_s):
            self._console.print(f"{self._show.now_s:6.0f} s  {line}")

    def incident(self, found: Incident) -> None:
        found = shown(found)
        said = (found.component, found.state.replace("ongoing", "open"))
        if self._said.get(found.incident_id) == said:
            return
        self._said[found.incident_id] = said
        verb = "cleared" if found.state == "resolved" else "blamed"
        when = found.updated_at if found.state == "resolved" else found.detected_at
        self._console.print(
            f"{since_start(self._show, when):6.0f} s  {verb:<8} "
            f"{found.component} {found.symptom}: {sentence(found)}"
        )


class Screen:
    """A table that lives: what was broken, what was blamed, after how many seconds."""

    def __init__(self, show: DemoState) -> None:
        self._show = show
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
        """Everything on the screen, as it is now."""
        show = self._show
        title = Text.assemble(
            ("SkeletonHunter", "bold"), "   page ", (self._url, "underline"),
            f"   event time {show.now_s:.0f} of {show.length_s} s, {show.speed:.1f} x   "
            f"{show.records:,} records",
        )  # fmt: skip
        if (lag_s := show.lag_s) > _TELL_S:
            title.append(f"   judging is {lag_s:.0f} s behind: this machine is busy", "yellow")
        return Group(title, Text(), self._broken(), Text(), self._blamed())

    def _broken(self) -> Table:
        show = self._show
        table = Table(title="what was broken", title_justify="left", expand=True)
        table.add_column("at", justify="right")
        table.add_column("broken")
        table.add_column("named after", justify="right")
        matches = {id(match.truth): match for match in show.score().matched}
        by_truth = {(m.truth.component, m.truth.start): m for m in matches.values()}
        for truth in show.simulation.truths(int(show.now_s)):
            match = by_truth.get((truth.component, truth.start))
            after = (
                Text("looking", "dim") if match is None else Text(f"{match.seconds:.0f} s", "green")
            )
            at = f"{since_start(show, truth.start):.0f} s"
            table.add_row(at, Text(_what(truth)), after)
        return table

    def _blamed(self) -> Table:
        table = Table(title="what was blamed, and why", title_justify="left", expand=True)
        for name in ("at", "", "component", "evidence"):
            table.add_column(name, justify="right" if name == "at" else "left", overflow="fold")
        incidents = map(shown, self._show.incidents.values())
        for found in sorted(incidents, key=lambda each: each.detected_at):
            style = "dim" if found.state == "resolved" else COLOURS[found.severity]
            at = f"{since_start(self._show, found.detected_at):.0f} s"
            state = "cleared" if found.state == "resolved" else found.severity
            table.add_row(
                at, Text(state, style), Text(found.component, style), Text(sentence(found), style)
            )
        return table


def _what(truth: Truth) -> str:
    innocent = "  (not the network's fault)" if truth.component.startswith("agent:") else ""
    return printable(f"{truth.component} {truth.symptom}{innocent}")
