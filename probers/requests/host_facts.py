"""Ports, huge pages and flow tables of the host: read in a thread, bounded in all.

A counter of a broken rnic may take long to read, and a command may hang; neither may stop probing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import chain, islice
from pathlib import Path
from time import time_ns
from typing import Final, NamedTuple

from probers.requests import ethtool, port_states
from probers.requests.huge_pages import DEVICE, HugePages
from probers.requests.limits import DEFAULT, RequestLimits
from schemas.documents.requests.evidence import DeviceCounters
from schemas.documents.times import rfc3339

SYS: Final = Path("/sys/class")
_NUMBER_BYTES: Final = 64
_RDMA: Final = "infiniband/*/ports/*"
_RDMA_FOLDERS: Final = ("counters", "hw_counters")
_NETWORK: Final = "net/*"
_ERRORS: Final = ("err", "drop", "missed", "collision", "over")
#: Of what a driver counts: errors, pauses, and a link that goes down.
_DRIVER: Final = (*_ERRORS, "crc", "symbol", "discard", "pause", "link_down", "out_of_buffer")


class _Port(NamedTuple):
    """A port: its name, the rnic whose it is, and what reads it."""

    name: str
    rnic: str
    values: Iterator[tuple[str, int]]


class HostFacts:
    """Reads what requests ask of the host.

    commands   argv of each command that prints a flow table, without a shell; empty: there is none
    root       where the kernel shows devices
    rnics      knows which interface is an rnic's
    statistics  of an interface's driver; raises OSError where it has none
    """

    def __init__(
        self,
        commands: Sequence[Sequence[str]] = (),
        limits: RequestLimits = DEFAULT,
        *,
        root: Path = SYS,
        rnics: port_states.Rnics | None = None,
        statistics: Callable[[str], Mapping[str, int]] = ethtool.statistics,
        huge_pages: HugePages | None = None,
    ) -> None:
        self.commands, self._limits, self._root = tuple(map(tuple, commands)), limits, root
        self._rnics, self._statistics = rnics or port_states.Rnics(), statistics
        self._huge_pages = huge_pages or HugePages(root.parent / "kernel/mm/hugepages")

    def learn_rnics(self, rnics: Iterable[str]) -> None:
        """These rnics (addresses) are the host's: what they look like while they are well."""
        self._rnics.learn(rnics)

    def counters(self) -> list[DeviceCounters]:
        """All counters and states of RDMA ports; the error counters and states of interfaces;
        huge pages, where the host has or wants any."""
        left = self._limits.values
        found = []
        if pages := dict(islice(self._huge_pages.values().items(), left)):
            left -= len(pages)
            found.append(DeviceCounters(DEVICE, rfc3339(time_ns()), pages))
        for port in islice(self._ports(), self._limits.devices):
            values = dict(islice(port.values, left))
            left -= len(values)
            if values:
                found.append(DeviceCounters(port.name, rfc3339(time_ns()), values, port.rnic))
        return found

    def flow_table(self) -> tuple[str, bool]:
        """What each command prints, below ``$ command``, and whether that was cut; raises OSError
        with a reason."""
        text, left = "", self._limits.output_bytes
        for command in self.commands:
            head = "$ " + " ".join(command) + "\n"
            printed, cut = self._printed(command, max(left - len(head), 0))
            text, left = text + head + printed, left - len(head) - len(printed)
            if cut:
                return text, True
            if printed and not printed.endswith("\n"):
                text, left = text + "\n", left - 1
        return text, False

    def _printed(self, command: Sequence[str], most: int) -> tuple[str, bool]:
        """What one command prints, and whether it was cut to so many bytes."""
        import subprocess  # only where it is asked for: it costs the agent memory

        process = subprocess.Popen(  # noqa: S603 — fixed by the host's operator, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        watch = threading.Timer(self._limits.command_s, process.kill)
        watch.start()
        with process, ExitStack() as last:
            last.callback(process.kill)
            assert process.stdout is not None  # noqa: S101  # it is a pipe
            raw = process.stdout.read(most + 1)
            cut = len(raw) > most
            code = 0 if cut else process.wait()
            late = not watch.is_alive()
            watch.cancel()
        if late and not cut:
            raise OSError(f"{command[0]} ran for more than {self._limits.command_s:g} s")
        if code > 0:
            raise OSError(f"{command[0]} ended with {code}")
        return _text(raw[:most]), cut

    def _ports(self) -> Iterator[_Port]:
        of_rnic = self._rnics.present(self._root / "net")
        for port in sorted(self._root.glob(_RDMA)):
            rnic, _ = of_rnic.get(port_states.interface_of(port), ("", False))
            folders = [port / name for name in _RDMA_FOLDERS]
            values = chain(port_states.of_rdma_port(port), _values(folders, errors=False))
            yield _Port(f"{port.parts[-3]}/{port.name}", rnic, values)
        seen = set()
        for interface in sorted(self._root.glob(_NETWORK)):
            if interface.name != "lo":
                seen.add(interface.name)
                rnic, addressed = of_rnic.get(interface.name, ("", False))
                states = [("device_present", 1), ("address_present", int(addressed))]
                values = chain(
                    states if rnic else (), port_states.of_interface(interface),
                    _values([interface / "statistics"], errors=True),
                    self._driver_counts(interface.name),
                )  # fmt: skip
                yield _Port(interface.name, rnic, values)
        for name, (rnic, _) in of_rnic.items():
            if name not in seen:
                yield _Port(name, rnic, iter([("device_present", 0)]))

    def _driver_counts(self, interface: str) -> Iterator[tuple[str, int]]:
        try:
            found = self._statistics(interface)
        except OSError:  # its driver has none
            return
        for name, count in found.items():
            if any(part in name for part in _DRIVER) and 0 <= count < 2**63:
                yield name, count


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
