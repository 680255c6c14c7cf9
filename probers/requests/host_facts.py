"""Error counters of the host's ports, and its flow table: read in a thread, bounded in all.

A counter of a broken rnic may take long to read, and a command may hang; neither may stop probing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from time import time_ns
from typing import Final

from probers.requests.limits import DEFAULT, RequestLimits
from schemas.documents.requests.evidence import DeviceCounters
from schemas.documents.times import rfc3339

SYS: Final = Path("/sys/class")
_NUMBER_BYTES: Final = 64
_RDMA: Final = "infiniband/*/ports/*"
_RDMA_FOLDERS: Final = ("counters", "hw_counters")
_NETWORK: Final = "net/*"
_ERRORS: Final = ("err", "drop", "missed", "collision", "over")


class HostFacts:
    """Reads what requests ask of the host.

    command  argv of the command that prints the flow table, without a shell; empty: there is none
    root     where the kernel shows devices
    """

    def __init__(
        self,
        command: Sequence[str] = (),
        limits: RequestLimits = DEFAULT,
        *,
        root: Path = SYS,
    ) -> None:
        self.command, self._limits, self._root = tuple(command), limits, root

    def counters(self) -> list[DeviceCounters]:
        """All counters of RDMA ports, and the error counters of network interfaces."""
        left = self._limits.values
        found = []
        for name, folders, errors in islice(self._ports(), self._limits.devices):
            values = dict(islice(_values(folders, errors=errors), left))
            left -= len(values)
            if values:
                found.append(DeviceCounters(name, rfc3339(time_ns()), values))
        return found

    def flow_table(self) -> tuple[str, bool]:
        """What the command prints, and whether it was cut; raises OSError with a reason."""
        import subprocess  # only where it is asked for: it costs the agent memory

        process = subprocess.Popen(  # noqa: S603 — fixed by the host's operator, no shell
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        watch = threading.Timer(self._limits.command_s, process.kill)
        watch.start()
        with process, ExitStack() as last:
            last.callback(process.kill)
            assert process.stdout is not None  # noqa: S101  # it is a pipe
            raw = process.stdout.read(self._limits.output_bytes + 1)
            cut = len(raw) > self._limits.output_bytes
            code = 0 if cut else process.wait()
            late = not watch.is_alive()
            watch.cancel()
        if late and not cut:
            raise OSError(f"{self.command[0]} ran for more than {self._limits.command_s:g} s")
        if code > 0:
            raise OSError(f"{self.command[0]} ended with {code}")
        return _text(raw[: self._limits.output_bytes]), cut

    def _ports(self) -> Iterator[tuple[str, list[Path], bool]]:
        """Name, folders of counters, whether only those of errors are read."""
        for port in sorted(self._root.glob(_RDMA)):
            folders = [port / name for name in _RDMA_FOLDERS]
            yield f"{port.parts[-3]}/{port.name}", folders, False
        for interface in sorted(self._root.glob(_NETWORK)):
            if interface.name != "lo":
                yield interface.name, [interface / "statistics"], True


def in_thread(read: Callable[[], None]) -> None:
    """Call it in a thread of its own, which does not keep the process."""
    threading.Thread(target=read, name="host-facts", daemon=True).start()


def _text(raw: bytes) -> str:
    """As ASCII, so that it takes two bytes a letter at most in a document."""
    text = raw.decode("ascii", "replace")
    return "".join(
        each if (each.isascii() and each.isprintable()) or each in "\n\t" else "?" for each in text
    )


def _values(folders: list[Path], *, errors: bool) -> Iterator[tuple[str, int]]:
    for folder in folders:
        try:
            files = sorted(folder.iterdir())
        except OSError:  # not of this device
            continue
        for file in files:
            if errors and not any(part in file.name for part in _ERRORS):
                continue
            with suppress(OSError, ValueError), file.open("rb", buffering=0) as opened:
                yield file.name, int(opened.read(_NUMBER_BYTES))
