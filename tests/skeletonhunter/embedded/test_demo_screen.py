"""The demo's output: what is said of an incident, and what a terminal cannot show is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from builders.control_characters import (
    CONTROL,
    ESCAPED,
    MARKUP,
    hostile_incident,
    is_printable,
)
from rich.console import Console

from controller.ping_lists.jobs.rings import JobPhase
from schemas.documents.topology import Container
from skeletonhunter.embedded import demo_screen
from skeletonhunter.embedded.demo_state import DemoState
from skeletonhunter.embedded.pace import Pace
from skeletonhunter.embedded.rounds import Rounds, full_mesh
from testbed.scenarios.scenario import load


def test_the_lines_and_the_screen_of_the_demo_are_printable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    truth = SimpleNamespace(component=f"tor:{CONTROL}{MARKUP}", symptom="loss",
                            start="2026-01-01T00:00:00Z")  # fmt: skip
    state: Any = SimpleNamespace(
        simulation=SimpleNamespace(start_ns=0, truths=lambda _: [truth]), now_s=1.0, speed=1.0,
        records=1, length_s=9, lag_s=0.0, incidents={"abc": hostile_incident()},
        rounds=Rounds(0),
        score=lambda: SimpleNamespace(matched=[]),
    )  # fmt: skip
    lines = demo_screen.Lines(state)
    lines.tick()
    lines.incident(hostile_incident())
    printed = capsys.readouterr().out
    assert is_printable(printed)
    assert ESCAPED in printed
    assert MARKUP in printed
    console = Console(width=400, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(demo_screen.Screen(state).picture())
    assert is_printable(captured.get())
    assert ESCAPED in captured.get()


def test_a_line_of_what_cleared_says_after_how_long_and_no_evidence_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    state: Any = SimpleNamespace(simulation=SimpleNamespace(start_ns=1_767_225_600 * 10**9))
    lines = demo_screen.Lines(state)
    said = {"component": "tor:asw-3", "evidence": {"text": "243 of 301 bad paths cross tor:asw-3"}}
    lines.incident(hostile_incident(**said))
    lines.incident(hostile_incident(**said, state="ongoing", version=2))
    lines.incident(
        hostile_incident(
            **said, state="resolved", version=3, closed_at="2026-01-01T00:00:29Z",
            updated_at="2026-01-01T00:00:40Z",
        )
    )  # fmt: skip
    assert capsys.readouterr().out.splitlines() == [
        "     2 s  blamed   tor:asw-3 loss: 243 of 301 bad paths cross tor:asw-3",
        "    40 s  cleared  tor:asw-3 loss: over after 29 s",
    ]


def test_everything_fits_on_a_terminal_of_80_by_24(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    plan = load("demo")
    simulation = plan.simulation(seed=1, start_ns=1_800_000_000 * 10**9)
    state = DemoState(simulation, Pace(plan.duration_s, 75.0))
    state.rounds = rounds(simulation.topology.containers)
    state.now_s, state.judged_s, state.records = 290.0, 288.0, 1_282_666
    for truth in state.simulation.truths(290):
        state.incidents[truth.component] = msgspec.structs.replace(
            hostile_incident(), incident_id=truth.component, component=truth.component,
            opened_at=truth.start, detected_at=truth.start, updated_at=truth.start,
        )  # fmt: skip
    lines = drawn(state)
    assert len(lines) <= 24
    assert all(truth.component in "".join(lines[-8:]) for truth in simulation.truths(290)[:5])
    assert "full mesh 15,360, same rail 3,840, skeleton 1,280" in " ".join(lines)
    state.now_s = -100.0
    assert len(drawn(state)) <= 24


def rounds(containers: Sequence[Container]) -> Rounds:
    """Of four jobs whose skeletons are found."""
    jobs = sorted({box.job for box in containers})
    found = Rounds(full_mesh(list(containers)))
    before = JobPhase("preload", "not inferred yet", 16, 0, 480, 0, 1)
    after = JobPhase("skeleton", "inferred", 16, 16, 160, 160, 1)
    found.update(dict.fromkeys(jobs, before), {})
    found.update(dict.fromkeys(jobs, after), {})
    return found


def drawn(state: DemoState) -> list[str]:
    console = Console(width=80, height=24)
    with console.capture() as captured:
        console.print(demo_screen.Screen(state).picture())
    return captured.get().rstrip("\n").split("\n")
