"""The unit that runs the agent on hosts: hardened, valid, and with options that the agent has."""

from __future__ import annotations

import ctypes
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from probers.command_line import options as command_line
from schemas.signing.keys import KeyRing

UNIT = Path(__file__).parents[2] / "systemd" / "skeletonhunter-agent.service"
_PR_SET_MDWE, _PR_GET_MDWE, _REFUSE_EXEC_GAIN = 65, 66, 1


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: apt install systemd)")
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True)


def test_its_exposure_is_low() -> None:
    done = analyze("security", "--offline=true", "--no-pager", "--threshold=20", str(UNIT))
    assert done.returncode == 0, done.stdout + done.stderr


def test_systemd_understands_it(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/skeletonhunter-agent", sys.executable))
    done = analyze("verify", "--man=no", str(unit))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_the_agent_has_the_options_that_it_gives(tmp_path: Path) -> None:
    key = KeyRing({"k1": b"m" * 32}).host_key("f1", "host-17")
    for name, text in (
        ("probe.key", "p" * 32),
        ("sender.key", key.document()),
        ("token", "t" * 40),
    ):
        (tmp_path / name).touch(mode=0o600)
        (tmp_path / name).write_text(text + "\n")
    values = {
        "${SKH_NODE_SN}": "host-17", "${SKH_CONTROLLER}": "https://controller:8770",
        "${SKH_PUBLISH}": "kafka:broker-1:9092", "${CREDENTIALS_DIRECTORY}": str(tmp_path),
        "${STATE_DIRECTORY}": "/var/lib/skeletonhunter",
        "$SKH_AGENT_OPTIONS": "--allow-cidr 10.0.0.0/8",
    }  # fmt: skip
    text = UNIT.read_text().replace("\\\n", " ")
    for name, value in values.items():
        text = text.replace(name, value)
    (line,) = [each for each in text.splitlines() if each.startswith("ExecStart=")]
    assert "$" not in line
    options = command_line.parse(shlex.split(line)[1:])
    assert options.spool == "/var/lib/skeletonhunter/spool"
    assert options.sender_key is not None


def test_the_agent_needs_no_memory_that_is_written_and_executed() -> None:
    """MemoryDenyWriteExecute, by the kernel itself: what the agent and its doctor import."""
    if ctypes.CDLL(None).prctl(_PR_GET_MDWE, 0, 0, 0, 0) < 0:
        pytest.skip("this kernel is older than Linux 6.3")
    restricted = (
        "import ctypes, os, sys; "
        f"assert ctypes.CDLL(None).prctl({_PR_SET_MDWE}, {_REFUSE_EXEC_GAIN}, 0, 0, 0) == 0; "
        "os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])"
    )
    agent = (
        "import probers.agent.main, probers.publishing.kafka; from probers.doctor import host; "
        "print(host.adjtimex())"
    )
    done = subprocess.run([sys.executable, "-c", restricted, agent], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
