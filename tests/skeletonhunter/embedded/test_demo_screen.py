"""The demo's output: what a terminal cannot show is escaped."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from builders.control_characters import (
    CONTROL,
    ESCAPED,
    MARKUP,
    hostile_incident,
    is_printable,
)
from rich.console import Console

from skeletonhunter.embedded import demo_screen
from skeletonhunter.embedded.rounds import Rounds


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
