"""Fixtures of the command's tests: the command, and files of a small healthy cluster."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from builders import simulated_files
from builders.command_line import Command

from skeletonhunter.settings import PREFIX
from testbed.simulator.files import Written


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the settings of this shell out."""
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A test finds no outcomes of others in the user's cache, and leaves none there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], no_settings: None) -> Command:
    """The command in this process, without settings of this shell."""
    return Command(capsys)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Files of a small healthy cluster."""
    return simulated_files.small_cluster(tmp_path_factory.mktemp("small"))
