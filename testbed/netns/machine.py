"""What the fabric asks of Linux: namespaces, ip, bridge, nft, processes that live in them."""

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
END_TIMEOUT_S: Final = 5.0
_PACKAGES: Final = {"ip": "iproute2", "nft": "nftables", "nsenter": "util-linux"}
_STARTED, _STATE = 19, 0  # fields of /proc/PID/stat after the command's name


class FabricError(RuntimeError):
    """The fabric could not be built, changed or taken down; the message says what failed."""


class Process(NamedTuple):
    """A process and when it was started [clock ticks since boot]: numbers are used again."""

    pid: int
    born: int


def missing() -> list[str]:
    """What this machine lacks to build a fabric; empty when nothing does."""
    lacks = [f"{tool} (apt install {package})" for tool, package in _PACKAGES.items()
             if shutil.which(tool) is None]  # fmt: skip
    if os.name != "posix" or os.geteuid() != 0:
        lacks.insert(0, "root")
    return lacks


def call(command: Sequence[str], text: str = "") -> str:
    """Run a command and return what it printed; raises FabricError with its first complaint."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603  # fixed argument lists
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines()
        raise FabricError(f"{' '.join(command[:6])}: {why[0] if why else done.returncode}")
    return done.stdout


def inside(space: str, command: Sequence[str]) -> list[str]:
    """The command, run in a namespace's network; its files are this machine's."""
    return ["nsenter", f"--net={NAMESPACES / space}", "--", *command]


def ip(space: str | None, lines: Sequence[str], *options: str) -> None:
    """Run lines of ``ip -batch``, in a namespace or (None) outside of all."""
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
    """Names of the namespaces that begin so."""
    return [path.name for path in NAMESPACES.glob(f"{prefix}*")]


def remove(names: Iterable[str]) -> None:
    """End every process in these namespaces and remove them; raises FabricError if one stays."""
    gone = list(names)
    if not gone:
        return
    end(processes_in(gone))
    with suppress(FabricError):  # what matters is what is left
        ip(None, [f"netns del {name}" for name in gone], "-force")
    for name in gone:
        shutil.rmtree(RUNTIME / name, ignore_errors=True)
    with suppress(OSError):  # another fabric has something there, or nobody ever had
        RUNTIME.rmdir()
    left = sorted(set(gone).intersection(present()))
    if left:
        raise FabricError(f"namespaces {', '.join(left)} are still there; ip netns del them")


def remove_stale() -> list[str]:
    """Remove namespaces of fabrics that belong to a process which is gone (it was killed, or the
    power failed); returns their names. Fabrics with a name of their own are left alone."""
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
    """The live process of this number."""
    fields = _stat(pid)
    return Process(pid, int(fields[_STARTED])) if fields and fields[_STATE] != "Z" else None


def alive(known: Process) -> bool:
    """Whether it still runs, and is not another one with its number."""
    return process(known.pid) == known


def stopped(known: Process) -> bool:
    """Whether it is halted by SIGSTOP."""
    fields = _stat(known.pid)
    return bool(fields) and fields[_STATE] == "T"


def end(processes: Iterable[Process], *, now: bool = False) -> None:
    """End processes and what else is in their process groups, with patience first unless ``now``;
    raises FabricError if one stays. Children of our own become zombies until they are waited for.
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
    """To the whole group when the process leads one: helpers are started that way."""
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
    """Let halted processes run on, and wait until they do."""
    known = [each for each in processes if alive(each)]
    for each in known:
        _signal(each, signal.SIGCONT)
    give_up_at = time.monotonic() + END_TIMEOUT_S
    while any(stopped(each) for each in known) and time.monotonic() < give_up_at:
        time.sleep(0.01)  # between two looks
