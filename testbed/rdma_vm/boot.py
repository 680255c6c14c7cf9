"""Starts a guest and runs commands in its shell over the serial line.

The machine is emulated (TCG): a stock kernel boots in some seconds, also where KVM is absent or
does not work when nested. A boot that hangs is ended and repeated once. A guest that stops
answering later is questioned over the emulator's monitor and the kernel's magic keys, and the
answers are notes of the error.
"""

from __future__ import annotations

import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, NamedTuple

from testbed.rdma_vm.clock import counter_khz
from testbed.rdma_vm.image import build
from testbed.rdma_vm.kernel import GuestError, kernel
from testbed.rdma_vm.monitor import Monitor, processors

_MEMORY_MB: Final = 512
_CORES: Final = 2  # with one, polling a completion queue keeps the driver from filling it
_TRIES: Final = 2
_LAST_LINES: Final = 5
#: tsc=reliable: the other clocks of the emulated machine tick in steps of 4 ms (see ``clock``).
_KERNEL_LINE: Final = "console=ttyS0 panic=-1 quiet loglevel=0 tsc=reliable sysrq_always_enabled"
#: For one command: the answer of a guest on a busy machine takes up to 5 s.
_COMMAND_S: Final = 120.0
#: Magic keys: print everything; backtrace of running processors; tasks that wait for the kernel.
_QUESTIONS: Final = "9lw"
_QUIET_S: Final = 1.0

Launch = Callable[..., "subprocess.Popen[bytes]"]


class GuestHangError(GuestError):
    """A command did not end; what the machine did then is in the notes."""


class Nic(NamedTuple):
    """A virtual NIC: the tap device that is its cable's other end, and its hardware address."""

    tap: str
    mac: str


class CommandResult(NamedTuple):
    """The output lines of a command, and its exit code."""

    lines: list[str]
    code: int


def _launch(argv: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, **popen)  # noqa: S603  # our own argument list


class Guest:
    """A running guest; a context manager. It ends with this process, also when that is killed.

    with Guest() as guest:
        guest.run("network pair")
        print(guest.run("ibv_devices").lines)

    nics        cabled to tap devices, which exist where ``launch`` starts processes
    launch      as subprocess.Popen; a fabric's ``popen`` puts the guest into a host's network
    patience_s  for one boot
    """

    def __init__(
        self,
        nics: Sequence[Nic] = (),
        *,
        launch: Launch = _launch,
        cache: Path | None = None,
        patience_s: float = 90.0,
    ) -> None:
        self._nics, self._launch, self._cache = tuple(nics), launch, cache
        self._patience_s = patience_s
        self._process: subprocess.Popen[bytes] | None = None
        self._monitor: Monitor | None = None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._heard: list[str] = []
        self._count = 0
        #: Boots that hung or died before the one that runs.
        self.failed_boots = 0
        #: From the start of the process to the shell [s].
        self.up_after_s = 0.0

    def __enter__(self) -> Guest:
        guest_kernel = kernel(self._cache)
        # A file without a name: it cannot stay behind.
        with tempfile.TemporaryFile() as image:
            build(guest_kernel, image)
            image.flush()
            for _ in range(_TRIES):
                try:
                    self._boot(guest_kernel.image, image.fileno())
                except GuestError as why:
                    self.close()
                    self.failed_boots += 1
                    failure = why
                except BaseException:
                    self.close()
                    raise
                else:
                    return self
        raise failure

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, command: str, within_s: float = _COMMAND_S) -> CommandResult:
        """Run a line of shell and wait for its end; raises GuestHangError after ``within_s``."""
        if self._process is None or self._process.stdin is None or "\n" in command:
            raise GuestError(f"cannot run {command!r}: one line, in a guest that runs")
        self._count += 1
        try:
            self._process.stdin.write(f"{self._count} {command}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError as why:
            raise GuestError(f"the guest is gone; its last words: {self._last_words()}") from why
        try:
            lines = self._until(f"skh-end {self._count} ", within_s, command)
        except GuestHangError as why:
            for note in _questioned(self._monitor, self._process.stdin, self._lines):
                why.add_note(note)
            raise
        return CommandResult(lines[:-1], int(lines[-1].split()[2]))

    def close(self) -> None:
        """Kill the machine; it has no disks."""
        if self._monitor is not None:
            self._monitor.close()
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            with suppress(BrokenPipeError):  # the guest does not read its input any more
                process.stdin.close()

    def _boot(self, kernel_image: Path, initrd: int) -> None:
        begin = time.monotonic()
        self._lines, self._heard = queue.SimpleQueue(), []
        self._monitor = Monitor()
        self._process = self._launch(
            [*_machine(kernel_image, f"/proc/self/fd/{initrd}", self._nics),
             *self._monitor.arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=(initrd, self._monitor.fd),
        )  # fmt: skip
        reader = threading.Thread(
            target=_read, args=(self._process.stdout, self._lines), daemon=True
        )
        reader.start()
        lines = self._until("skh-ready ", self._patience_s, "the boot")
        self.up_after_s = time.monotonic() - begin
        if warnings := [line for line in lines if line.startswith("skh-warning ")]:
            raise GuestError(f"{warnings[0]}; is modules.txt right for this kernel?")

    def _until(self, prefix: str, within_s: float, what: str) -> list[str]:
        """Read lines up to the one with this prefix; raises GuestHangError after ``within_s``."""
        give_up_at = time.monotonic() + within_s
        lines: list[str] = []
        while not (lines and lines[-1].startswith(prefix)):
            try:
                line = self._lines.get(timeout=max(0.0, give_up_at - time.monotonic()))
            except queue.Empty:
                raise GuestHangError(
                    f"{what}: no end after {within_s:g} s; the guest's last words: "
                    f"{self._last_words()}"
                ) from None
            if line is None:
                raise GuestError(f"{what}: the guest ended; last words: {self._last_words()}")
            self._heard = [*self._heard[1 - _LAST_LINES :], line]
            lines.append(line)
        return lines

    def _last_words(self) -> str:
        return " | ".join(self._heard) or "none"


def _machine(kernel_image: Path, initrd: str, nics: Sequence[Nic]) -> list[str]:
    khz = counter_khz()
    line = _KERNEL_LINE + (f" tsc_early_khz={khz}" if khz else "")
    cables = []
    for number, nic in enumerate(nics):
        cables += [
            "-netdev", f"tap,id=net{number},ifname={nic.tap},script=no,downscript=no",
            "-device", f"virtio-net-device,netdev=net{number},mac={nic.mac}",
        ]  # fmt: skip
    return [
        "setpriv", "--pdeathsig", "KILL",
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-M", "microvm",
        "-smp", str(_CORES), "-m", str(_MEMORY_MB), "-display", "none", "-monitor", "none",
        "-serial", "stdio", "-no-reboot", "-nodefaults", "-no-user-config",
        "-kernel", str(kernel_image), "-initrd", initrd, "-append", line, *cables,
    ]  # fmt: skip


def _questioned(
    monitor: Monitor | None, serial: IO[bytes], lines: queue.SimpleQueue[str | None]
) -> list[str]:
    """What the processors do, and what the kernel prints when it is asked by magic keys."""
    if monitor is None:
        return []
    notes = processors(monitor.registers())
    for key in _QUESTIONS:
        monitor.send_break()
        with suppress(BrokenPipeError):
            serial.write(key.encode())
            serial.flush()
        with suppress(queue.Empty):
            while (line := lines.get(timeout=_QUIET_S)) is not None:
                notes.append(line)
    return notes


def _read(serial: IO[bytes], lines: queue.SimpleQueue[str | None]) -> None:
    """Queue the guest's output line by line, and None at its end."""
    with serial:
        for raw in serial:
            lines.put(raw.decode(errors="replace").strip("\r\n"))
    lines.put(None)
