"""The demo as a process: faults in, all of them named, exit code 0."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import httpx
import pytest
from builders.command_line import Command, CommandResult

#: The five faults of the shipped scenario, one after the other, on an eighth of its cluster.
FIVE_FAULTS = """
proves = "a NIC, a ToR, a link, a vSwitch and an agent are told apart"
duration_s = 150

[fabric]
name = "demo"
hosts = 16
rails = 2
hosts_per_segment = 4
aggs = 2
pods = 2
spines = 2
hosts_per_job = 8
tenants = 2

[probing]
targets = 8
ports_per_pair = 2

[[faults]]
kind = "rnic_down"
component = "any rnic"
at = 30
for = 10

[[faults]]
kind = "tor_loss"
component = "any tor"
at = 50
for = 10
magnitude = 0.3

[[faults]]
kind = "link_loss"
component = "any tor-agg link"
at = 70
for = 10
magnitude = [0.1, 0.2]

[[faults]]
kind = "vswitch_latency"
component = "any vswitch"
at = 100
for = 25
magnitude = 30.0

[[faults]]
kind = "agent_crash"
component = "any agent"
at = 130
for = 10
"""


@pytest.mark.slow
def test_the_demo_names_five_kinds_of_faults(tmp_path: Path) -> None:
    scenario = tmp_path / "five.toml"
    scenario.write_text(FIVE_FAULTS)
    done = stayed(  # into a pipe: lines, as with --headless
        "demo", "--stay", "--duration", "60", "--port", "0", "--scenario",
        str(scenario),
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    assert done.out.startswith("page http://127.0.0.1:")
    assert "5 of 5 faults found" in done.out
    rail, mesh = numbers(r"preload .*: ([\d,]+) probes in a round on the same rail, of ([\d,]+)",
                         done.out)  # fmt: skip
    (active,) = numbers(r"activation 16 of 16 .*: ([\d,]+) probes in a round", done.out)
    found = re.findall(r"skeleton .*confidence [\d.]+; all jobs: ([\d,]+) probes", done.out)
    assert mesh > rail == active > int(found[-1].replace(",", ""))
    assert len(found) == 2, "both jobs"


def stayed(*arguments: str) -> CommandResult:
    """Run a demo that stays; when it says what to try, ask its page once, and interrupt it."""
    command = [sys.executable, "-m", "skeletonhunter", *arguments]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("stop with Ctrl-C"):
                (url,) = re.findall(
                    r"curl -s '(\S+api/v1/incidents\?order=urgent)'", "".join(lines)
                )
                assert httpx.get(url, timeout=60).json()["total"] >= 5
                process.send_signal(signal.SIGINT)
        return CommandResult(process.wait(600), "".join(lines), process.stderr.read())


def numbers(pattern: str, text: str) -> list[int]:
    found = re.search(pattern, text)
    assert found is not None, text
    return [int(each.replace(",", "")) for each in found.groups()]


def test_a_demo_too_short_for_its_scenario_says_how_long_it_takes(command: Command) -> None:
    done = command("demo", "--headless", "--duration", "5")
    assert done.code == 2
    assert "demo needs at least 25 s" in done.error_line


@pytest.mark.parametrize("duration", ["24.5", "0", "nan", "inf"])
def test_the_shipped_scenario_takes_what_its_help_says(command: Command, duration: str) -> None:
    done = command("demo", "--headless", "--duration", duration)
    assert (done.code, "needs at least 25 s" in done.error_line) == (2, True)
    words = " ".join(command("demo", "--help").out.split())
    assert "25 or more for `demo`" in words
    assert "x>=1]" not in words


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"]
)
def test_a_demo_that_is_stopped_leaves_no_folder_in_a_temporary_folder_with_a_long_name(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    scenario = tmp_path / "five.toml"
    scenario.write_text(FIVE_FAULTS)
    place = tmp_path / ("long" * 30)  # the path of a unix socket has 107 bytes at the most
    place.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "skeletonhunter", "demo", "--headless", "--port", "0",
         "--scenario", str(scenario)],
        stdout=PIPE, stderr=PIPE, text=True, env={**os.environ, "TMPDIR": str(place)},
        # A shell that starts the tests in its background has them ignore it, and so their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("page ")
        assert [*place.glob("skeletonhunter-*")]
        process.send_signal(number)
        process.stdout.read()
        assert (process.wait(120), process.stderr.read()) == (code, "")
        assert [*place.glob("skeletonhunter-*")] == []
