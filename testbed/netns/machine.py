"""Linux as the fabric uses it: namespaces, ip, bridge, nft, and the processes in them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

NAMESPACES: Final = Path("/run/netns")
PREFIX: Final = "skh"
RUNTIME: Final = Path("/run/skh-ovs")  # sockets of daemons, by namespace; gone with it
END_TIMEOUT_S: Final = 30.0  # a bound on hangs: a process that is killed ends at once
_PACKAGES: Final = {"ip": "iproute2", "nft": "nftables", "nsenter": "util-linux"}
_STARTED, _STATE = 19, 0  # fields of /proc/PID/stat after the command's name


class FabricError(RuntimeError):
    """The fabric could not be built, changed or taken down; the message says what failed."""


class Process(NamedTuple):
    """A process and when it was started [clock ticks since boot]: numbers are used again."""

    pid: int
    born: int


def missing() -> list[str]:
    """The tools and rights that this machine lacks for a fabric; empty when it lacks none."""
    lacks = [f"{tool} (apt install {package})" for tool, package in _PACKAGES.items()
             if shutil.which(tool) is None]  # fmt: skip
    if os.name != "posix" or os.geteuid() != 0:
        lacks.insert(0, "root")
    return lacks


def call(command: Sequence[str], text: str = "") -> str:
    """Run a command and return its output; raises FabricError with its first error line."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603  # fixed argument lists
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines()
        raise FabricError(f"{' '.join(command[:6])}: {why[0] if why else done.returncode}")
    return done.stdout


def inside(space: str, command: Sequence[str]) -> list[str]:
    """A command line that runs ``command`` in a namespace's network, with this machine's files."""
    return ["nsenter", f"--net={NAMESPACES / space}", "--", *command]


def ip(space: str | None, lines: Sequence[str], *options: str) -> None:
    """Run lines of ``ip -batch`` in a namespace, or (None) in the machine's own network."""
    if lines:
        where = ["-n", space] if space else []
        call(["ip", *where, *options, "-batch", "-"], "\n".join(lines) + "\n")


def bridge(space: str, lines: Sequence[str], *options: str) -> None:
    """Run lines of ``bridge -batch`` in a namespace."""
    if lines:
        call(["bridge", "-n", space, *options, "-batch", "-"], "\n".join(lines) + "\n")


def nft(space: str, script: str) -> str:
    """Run an nft script in a namespace."""
    return call(inside(space, ["nft", "-f", "-"]), script + "\n")


def present(prefix: str = f"{PREFIX}-") -> list[str]:
    """Names of the namespaces with this prefix."""
    return [path.name for path in NAMESPACES.glob(f"{prefix}*")]


def remove(names: Iterable[str]) -> None:
    """End every process in these namespaces and remove them; raises FabricError if one stays."""
    gone = list(names)
    if not gone:
        return
    end(processes_in(gone))
    with suppress(FabricError):  # the check below finds namespaces that stay
        ip(None, [f"netns del {name}" for name in gone], "-force")
    for name in gone:
        shutil.rmtree(RUNTIME / name, ignore_errors=True)
    with suppress(OSError):  # another fabric uses it, or it was never made
        RUNTIME.rmdir()
    left = sorted(set(gone).intersection(present()))
    if left:
        raise FabricError(f"namespaces {', '.join(left)} are still there; ip netns del them")


def remove_stale() -> list[str]:
    """Remove the namespaces of fabrics whose process has ended without closing them; returns the
    names. Fabrics with a name of their own are not touched."""
    stale = []
    for name in present():
        match = re.fullmatch(rf"{PREFIX}-(\d+)-\d+-[a-z]+(-\d+)+", name)
        if match and not Path(f"/proc/{match[1]}").exists():
            stale.append(name)
    remove(stale)
    return stale


def processes_in(spaces: Iterable[str]) -> list[Process]:
    """Every process whose network is one of these namespaces."""
    numbers = set()
    for space in spaces:
        with suppress(OSError):
            numbers.add((NAMESPACES / space).stat().st_ino)
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if (entry / "ns/net").stat().st_ino in numbers and (p := process(int(entry.name))):
                    found.append(p)
    return found


def process(pid: int) -> Process | None:
    """The running process with this pid; None where there is none, or a zombie."""
    fields = _stat(pid)
    return Process(pid, int(fields[_STARTED])) if fields and fields[_STATE] != "Z" else None


def alive(known: Process) -> bool:
    """Whether the process still runs, and its pid is not used by another one."""
    return process(known.pid) == known


def stopped(known: Process) -> bool:
    """Whether the process is stopped by SIGSTOP."""
    fields = _stat(known.pid)
    return bool(fields) and fields[_STATE] == "T"


def end(processes: Iterable[Process], *, now: bool = False) -> None:
    """End processes and their process groups: SIGTERM, then SIGKILL; with ``now`` SIGKILL at once.

    Children of this process become zombies until they are waited for. Raises FabricError if a
    process does not end.
    """
    left = [known for known in processes if alive(known)]
    for number in (signal.SIGKILL,) if now else (signal.SIGTERM, signal.SIGKILL):
        for known in left:
            _signal(known, signal.SIGCONT)
            _signal(known, number)
        give_up_at = time.monotonic() + END_TIMEOUT_S
        while (left := [known for known in left if alive(known)]) and (
            time.monotonic() < give_up_at
        ):
            time.sleep(0.01)  # between two looks
    if left:
        raise FabricError(f"processes {', '.join(str(p.pid) for p in left)} do not end")


def _signal(known: Process, number: int) -> None:
    """Signal a process, and its group if it leads one: helpers are started as group leaders."""
    with suppress(ProcessLookupError):
        if os.getpgid(known.pid) == known.pid:
            os.killpg(known.pid, number)
        else:
            os.kill(known.pid, number)


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def resume(processes: Iterable[Process]) -> None:
    """Continue stopped processes, and wait until they run."""
    known = [each for each in processes if alive(each)]
    for each in known:
        _signal(each, signal.SIGCONT)
    give_up_at = time.monotonic() + END_TIMEOUT_S
    while any(stopped(each) for each in known) and time.monotonic() < give_up_at:
        time.sleep(0.01)  # between two looks
