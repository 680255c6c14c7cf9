"""Fixtures of the command's tests: the command, and files of a small healthy cluster."""

from __future__ import annotations

import os

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


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], no_settings: None) -> Command:
    """The command in this process, without settings of this shell."""
    return Command(capsys)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Files of a small healthy cluster."""
    return simulated_files.small_cluster(tmp_path_factory.mktemp("small"))
