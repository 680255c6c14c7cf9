"""No control character of a record, document or file name reaches a terminal."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from builders.command_line import Command
from rich.console import Console

from probers.process import log
from schemas.documents.incident import Incident, decode_incident, encode
from schemas.printable import printable, printable_lines
from skeletonhunter import cli, terminal
from skeletonhunter.diagnosis import report
from skeletonhunter.embedded import demo_screen
from skeletonhunter.errors import BadInput
from testbed.simulator.files import Written

#: Clears the screen (ESC, and C1's CSI), rings, overwrites the line, turns the text round, hides.
EVIL = "a\x1b[2J\x9b2J\x07\r\u202e\u2066\u200b\x7fz"
SHOWN = r"a\x1b[2J\x9b2J\x07\r\u202e\u2066\u200b\x7fz"
MARKUP = "[/red]:rat:[bold]"


def safe(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


def incident(**changes: Any) -> Incident:
    document = {
        "incident_id": "abc", "version": 1, "state": "open", "fabric": EVIL,
        "component": f"host:{EVIL}", "kind": "host", "layer": "host", "symptom": "loss",
        "issue_type": EVIL, "direction": "both", "opened_at": "2026-01-01T00:00:00Z",
        "detected_at": "2026-01-01T00:00:02Z", "updated_at": "2026-01-01T00:00:02Z",
        "closed_at": None, "severity": "P0", "confidence": 1.0, "p_value": 1e-9,
        "tie_set": [f"host:{EVIL}", f"rnic:{EVIL}"], "parent": EVIL, "paths_bad": 1,
        "paths_total": 2, "jobs": [EVIL], "tenants": [EVIL], "strategy": EVIL,
        "evidence": {
            "text": f"{EVIL}\n{EVIL}", "examples": [EVIL], "source_hosts": 3,
            "layers": {EVIL: {"lost": 1, "sent": 2}},
        },
        **changes,
    }  # fmt: skip
    return decode_incident(json.dumps(document).encode())


def test_printable_escapes_what_is_not_and_nothing_else() -> None:
    assert printable(EVIL) == SHOWN
    assert printable("Zürich 10 µs …") == "Zürich 10 µs …"
    assert printable("a\nb\tc\ud800") == r"a\nb\tc\ud800"
    assert printable_lines("a\nb\x1b") == "a\nb\\x1b"


def test_table_and_explanation_of_an_incident_are_printable() -> None:
    table, explained = report.as_table([incident()]), report.explained(incident())
    assert safe(table)
    assert safe(explained)
    assert f"host:{SHOWN}" in table
    assert explained.count(SHOWN) >= 10


def test_a_name_that_looks_like_markup_is_a_name() -> None:
    found = incident(component=f"host:{MARKUP}", tie_set=[MARKUP, MARKUP], parent=None,
                     evidence={"text": MARKUP})  # fmt: skip
    assert report.as_table([found]).count(MARKUP) == 3


def test_json_of_an_incident_stays_exact() -> None:
    (line,) = report.as_json([incident()]).splitlines()
    assert json.loads(line) == json.loads(encode(incident()))
    assert json.loads(line)["component"] == f"host:{EVIL}"


def test_the_demo_s_lines_and_screen_are_printable(capsys: pytest.CaptureFixture[str]) -> None:
    truth = SimpleNamespace(component=f"tor:{EVIL}{MARKUP}", symptom="loss",
                            start="2026-01-01T00:00:00Z")  # fmt: skip
    show: Any = SimpleNamespace(
        simulation=SimpleNamespace(start_ns=0, truths=lambda _: [truth]), now_s=1.0, speed=1.0,
        records=1, length_s=9, lag_s=0.0, incidents={"abc": incident()},
        score=lambda: SimpleNamespace(matched=[]),
    )  # fmt: skip
    lines = demo_screen.Lines(show)
    lines.tick()
    lines.incident(incident())
    said = capsys.readouterr().out
    assert safe(said)
    assert SHOWN in said
    assert MARKUP in said
    console = Console(width=400, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(demo_screen.Screen(show).picture())
    assert safe(captured.get())
    assert SHOWN in captured.get()


def test_dead_letters_and_complaints_of_diagnose_are_printable(
    command: Command, tmp_path: Path, small: Written
) -> None:
    file = tmp_path / f"{EVIL}.ndjson"
    row = json.loads(small.pings.read_bytes().splitlines()[0])
    file.write_text(json.dumps({**row, "dial": EVIL}) + "\n")
    said = command("diagnose", file)
    assert (said.code, safe(said.err)) == (2, True), said.err
    assert SHOWN in said.err
    absent = command("diagnose", tmp_path / EVIL)
    assert (absent.code, safe(absent.err)) == (2, True)
    fabric = tmp_path / "t.json"
    fabric.write_text(json.dumps({EVIL: 1}))
    refused = command("diagnose", small.pings, "--topology", fabric)
    assert (refused.code, safe(refused.err), SHOWN in refused.err) == (2, True, True)
    assert safe(command("diagnose", file, "--format", "json").err), "the coverage's JSON too"


def test_what_a_command_writes_and_complains_of_is_printable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise BadInput(EVIL)

    monkeypatch.setattr(cli, "build", lambda: lambda **_: fail())
    with pytest.raises(SystemExit):
        cli.main([])
    terminal.echo(f"{EVIL}\n{EVIL}")
    log.log_event("info", EVIL, name=EVIL)
    record = logging.makeLogRecord({"name": "x", "msg": "%s\n", "args": (EVIL,)})
    print(terminal.OneLine("%(message)s").format(record))
    said = capsys.readouterr()
    assert safe(said.out + said.err)
    assert (said.out + said.err).count(r"\x1b[2J") == 6
