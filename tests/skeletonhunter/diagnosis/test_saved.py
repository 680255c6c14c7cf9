"""An incident is explained without judging the same files again."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.command_line import Command

from skeletonhunter.diagnosis import saved
from skeletonhunter.diagnosis.outcome import Outcome


@pytest.fixture
def broken_rnic(command: Command, tmp_path: Path) -> Path:
    """Records of a cluster in which an rnic dies."""
    scenario = tmp_path / "one.toml"
    scenario.write_text(
        'proves = "a NIC goes down"\nduration_s = 30\n[fabric]\nname = "f"\nhosts = 8\nrails = 2\n'
        'hosts_per_segment = 4\n[[faults]]\nkind = "rnic_down"\ncomponent = "any rnic"\nat = 15\n'
    )
    place = tmp_path / "out"
    assert command("simulate", scenario, "--seed", "3", "--out", place).code == 0
    return place / "pings.parquet"


def outcomes() -> list[Path]:
    return sorted(saved.cache_folder().glob("*.json"))


def test_explain_uses_what_the_run_before_has_found(command: Command, broken_rnic: Path) -> None:
    found = command("diagnose", broken_rnic)
    assert found.code == 1
    (kept,) = outcomes()
    kept.write_bytes(kept.read_bytes().replace(b"bad paths cross", b"bad ways cross"))
    explained = command("diagnose", broken_rnic, "--explain", "")
    assert "bad ways cross" in explained.out, "it was read, not judged"
    assert (explained.code, explained.err) == (found.code, found.err)


def test_another_file_or_option_is_judged_anew(command: Command, broken_rnic: Path) -> None:
    command("diagnose", broken_rnic)
    command("diagnose", broken_rnic, "--explain", "", "--strategy", "vote007")
    command("diagnose", broken_rnic, "--explain", "", "--until", "2026-01-01T00:00:25")
    assert len(outcomes()) == 3


def test_an_outcome_that_cannot_be_read_is_judged_anew(command: Command, broken_rnic: Path) -> None:
    command("diagnose", broken_rnic)
    (kept,) = outcomes()
    kept.write_text("{")
    assert "rnic:" in command("diagnose", broken_rnic, "--explain", "").out


def test_outcomes_are_their_owners_and_few(tmp_path: Path) -> None:
    nothing = Outcome(incidents=[], summary=[], coverage={}, enough=True, missing=[], nothing=None)
    for number in range(saved.MOST + 3):
        saved.save(f"{number:064}", nothing, tmp_path / "kept")
    kept = list((tmp_path / "kept").iterdir())
    assert len(kept) == saved.MOST
    assert {each.stat().st_mode & 0o777 for each in kept} == {0o600}
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
