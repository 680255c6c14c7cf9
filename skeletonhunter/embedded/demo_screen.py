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
from skeletonhunter.diagnosis.report import COLORS, duration, sentence
from skeletonhunter.embedded.demo_state import DemoState
from skeletonhunter.embedded.rounds import Rounds
from skeletonhunter.services.lag_notice import LagNotice
from skeletonhunter.terminal import shown
from testbed.scoring.truth import Truth

_SECOND: Final = 1_000_000_000
#: Lag from which it is reported [s of event time], which runs several times as fast as wall time.
_LAG_S: Final = 30.0
#: Lines of a terminal from which evidence is shown in full; below, of the newest incidents.
_HIGH: Final = 40
_NEWEST: Final = 8


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
        self._reasons: dict[str, str] = {}  # by job, what its lists are made of
        self._submitted = self._registered = False
        self._lag = LagNotice(_LAG_S)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        return None

    def begin(self, url: str, kafka: str, took_s: float) -> None:
        topology = self._state.simulation.topology
        rnics = sum(len(host.rnics) for host in topology.hosts)
        self._console.print(
            f"page {url} (up in {took_s:.1f} s), kafka {kafka}; "
            f"{len(topology.hosts)} hosts, {rnics} rnics; "
            f"while components break, event time runs {self._state.pace.after_s:.1f} times as fast"
        )

    def lists(self) -> None:
        """What has changed in who probes whom."""
        rounds = self._state.rounds
        if rounds.same_rail and not self._submitted:
            self._submitted = True
            self._print_phase(
                "preload", f"{len(rounds.phases)} jobs are submitted: {rounds.same_rail:,} probes "
                f"in a round on the same rail, of {rounds.full_mesh:,} in a full mesh",
            )  # fmt: skip
        if rounds.ready and rounds.ready == rounds.containers and not self._registered:
            self._registered = True
            self._print_phase(
                "activation", f"{rounds.ready} of {rounds.containers} containers have registered: "
                f"{rounds.now:,} probes in a round",
            )  # fmt: skip
        for job, phase in rounds.phases.items():
            before = self._reasons.setdefault(job, phase.reason)
            if phase.reason == before:
                continue
            self._reasons[job] = phase.reason
            if phase.phase == "skeleton":
                self._print_phase(
                    "skeleton", f"{job}: {phase.reason}, confidence {rounds.confidence[job]:.2f}; "
                    f"all jobs: {rounds.now:,} probes in a round",
                )  # fmt: skip
            else:
                self._print_phase("same rail", f"{job}: {phase.reason}")

    def _print_phase(self, phase: str, text: str) -> None:
        self._console.print(f"{self._state.now_s:6.0f} s  {phase:<10} {printable(text)}")

    def tick(self) -> None:
        truths = _broken(self._state)
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
        if found.state == "resolved":  # the evidence was printed when it was blamed
            verb, when, said = "cleared", found.updated_at, f"over after {duration(found)}"
        else:
            verb, when, said = "blamed", found.detected_at, sentence(found)
        self._console.print(
            f"{since_start(self._state, when):6.0f} s  {verb:<8} "
            f"{found.component} {found.symptom}: {said}"
        )


class Screen:
    """A table that is redrawn: who probes whom, then faults, incidents, and the seconds between.

    On a terminal of few lines each incident has one.
    """

    def __init__(self, state: DemoState) -> None:
        self._state = state
        self._url = self._kafka = ""
        self._console = Console(markup=False, emoji=False)
        self._live = Live(console=self._console, refresh_per_second=4, transient=False)

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

    def begin(self, url: str, kafka: str, took_s: float) -> None:
        self._url, self._kafka = url, kafka
        self.tick()

    def tick(self) -> None:
        self._live.update(self.picture())

    def incident(self, found: Incident) -> None:
        del found
        self.tick()

    def lists(self) -> None:
        self.tick()

    def picture(self) -> Group:
        """The screen as it is now."""
        state = self._state
        head = Text.assemble(("SkeletonHunter", "bold"), "   page ", (self._url, "underline"))
        if state.now_s < 0:
            head.append(f"   kafka {self._kafka}")
            return Group(head, Text("jobs start, and their traffic is seen"), Text(), self._lists())
        head.append(
            f"   event time {state.now_s:.0f} of {state.length_s} s, {state.speed:.1f} x   "
            f"{state.records:,} records"
        )
        if (lag_s := state.lag_s) > _LAG_S:
            head.append(f"   judging is {lag_s:.0f} s behind: this machine is busy", "yellow")
        return Group(head, _in_one_line(state.rounds), Text(), self._faults(), Text(),
                     self._incidents())  # fmt: skip

    def _lists(self) -> Table:
        rounds = self._state.rounds
        jobs, found = len(rounds.phases), rounds.skeletons
        table = Table(title="who probes whom", title_justify="left", box=None, expand=True)
        table.add_column("phase", overflow="fold")
        table.add_column("probes in a round", justify="right", no_wrap=True)
        table.add_row(f"full mesh of {jobs} jobs", f"{rounds.full_mesh:,}")
        table.add_row("preload: same rail, as jobs are submitted", f"{rounds.same_rail:,}")
        registered = f"{rounds.ready} of {rounds.containers} containers have registered"
        active = f"{rounds.now:,}" if not found else f"{rounds.same_rail:,}"
        table.add_row(f"activation: {registered}", active)
        if found:
            skeleton = f"skeleton: of {found} of {jobs} jobs{_confidence(rounds)}"
            table.add_row(skeleton, Text(f"{rounds.now:,}", "green"))
        else:
            table.add_row(f"skeleton: traffic of {rounds.seconds} s is known", "")
        return table

    def _faults(self) -> Table:
        state = self._state
        table = Table(title="what was broken", title_justify="left", box=None, expand=True)
        table.add_column("at", justify="right")
        table.add_column("broken")
        table.add_column("named after", justify="right")
        by_truth = {(m.truth.component, m.truth.start): m for m in state.score().matched}
        for truth in _broken(state):
            match = by_truth.get((truth.component, truth.start))
            after = (
                Text("looking", "dim") if match is None else Text(f"{match.seconds:.0f} s", "green")
            )
            at = f"{since_start(state, truth.start):.0f} s"
            table.add_row(at, Text(_described(truth)), after)
        return table

    def _incidents(self) -> Table:
        low = self._console.height < _HIGH
        table = Table(title="what was blamed, and why", title_justify="left", box=None, expand=True)
        for name in ("at", "", "component"):
            table.add_column(
                name, justify="right" if name == "at" else "left", no_wrap=low, overflow="fold"
            )
        table.add_column("evidence", no_wrap=low, overflow="ellipsis" if low else "fold", ratio=1)
        incidents = map(shown, self._state.incidents.values())
        ordered = sorted(incidents, key=lambda each: each.detected_at)
        for found in ordered[-_NEWEST:] if low else ordered:
            style = "dim" if found.state == "resolved" else COLORS[found.severity]
            at = f"{since_start(self._state, found.detected_at):.0f} s"
            status = "cleared" if found.state == "resolved" else found.severity
            table.add_row(
                at, Text(status, style), Text(found.component, style), Text(sentence(found), style)
            )
        return table


def _broken(state: DemoState) -> list[Truth]:
    """The faults so far."""
    return state.simulation.truths(max(0, int(state.now_s)))


def _in_one_line(rounds: Rounds) -> Text:
    """Who probes whom, once the hosts probe."""
    last = "skeleton" if rounds.skeletons else "at present"
    return Text(
        f"probes a round: full mesh {rounds.full_mesh:,}, same rail {rounds.same_rail:,}, "
        f"{last} {rounds.now:,}{_confidence(rounds)}"
    )


def _confidence(rounds: Rounds) -> str:
    return f", confidence {min(rounds.confidence.values()):.2f}" if rounds.confidence else ""


def _described(truth: Truth) -> str:
    innocent = "  (not the network's fault)" if truth.component.startswith("agent:") else ""
    return printable(f"{truth.component} {truth.symptom}{innocent}")
