"""Fixtures of the command's tests: the command, and files of a small healthy cluster."""

from __future__ import annotations

import os

import pytest
from builders.command_line import SECONDS, Command

from skeletonhunter.settings import PREFIX
from testbed.scenarios.scenario import load
from testbed.simulator.files import Written, write

_START_NS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command in this process, without settings of this shell."""
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)
    return Command(capsys)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Files of SECONDS healthy seconds of eight hosts; topology, heartbeats, placement too."""
    simulation = load("small").simulation(seed=3, start_ns=_START_NS)
    return write(simulation, tmp_path_factory.mktemp("small"), SECONDS, "ndjson")
