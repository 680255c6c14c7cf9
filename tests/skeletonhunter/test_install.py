"""What an agent's host installs: the wheel without extras."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")


def uv(*arguments: str | Path) -> None:
    """Run uv; skips the test, with what uv said, when a package can be got from nowhere."""
    done = subprocess.run(
        [UV, "--no-config", *arguments], capture_output=True, text=True, check=False, timeout=600,
        cwd=ROOT,
    )  # fmt: skip
    if done.returncode and any(
        sign in done.stderr for sign in ("Failed to fetch", "error sending request", "dns error")
    ):
        pytest.skip(f"uv cannot reach a package index: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment that has the wheel and what it requires."""
    place = tmp_path_factory.mktemp("install")
    uv("build", "--wheel", "--out-dir", place)
    (wheel,) = place.glob("*.whl")
    assert any(name.endswith("entry_points.txt") for name in zipfile.ZipFile(wheel).namelist())
    uv("venv", "--python", sys.executable, place / "venv")
    interpreter = place / "venv" / "bin" / "python"
    uv("pip", "install", "--python", interpreter, wheel)
    return interpreter


def run(python: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SKH_", "PYTHON"))}
    return subprocess.run(
        [python.with_name(name), *arguments], capture_output=True, text=True, check=False,
        timeout=600, env=clean, cwd=python.parent,
    )  # fmt: skip


@pytest.mark.slow
def test_without_the_extra_the_command_says_what_to_install_and_the_agent_works(
    python: Path,
) -> None:
    for arguments in (["--help"], [], ["diagnose", "x.csv"]):
        said = run(python, "skeletonhunter", *arguments)
        assert (said.returncode, said.stdout) == (2, ""), said
        assert said.stderr.count("\n") == 1
        assert "pip install 'skeletonhunter[server]'" in said.stderr
    agent = run(python, "skeletonhunter-agent", "--help")
    assert (agent.returncode, agent.stderr) == (0, "")
    assert "--ping-list" in agent.stdout
