"""Huge pages of the host over all NUMA nodes, as whole numbers for each size.

Values are named as the kernel's folders and files are, ``hugepages-2048kB/free_hugepages``; beside
them

hugepages-2048kB/boot       pages that the kernel's command line asks for
hugepages-2048kB/at_start   ``nr_hugepages`` when the agent began

Source  Linux, Documentation/admin-guide/mm/hugetlbpage.rst
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

#: As a device among those whose counters are read.
DEVICE: Final = "hugepages"
COMMAND_LINE: Final = Path("/proc/cmdline")
_POOL: Final = "nr_hugepages"
_FILES: Final = (_POOL, "free_hugepages", "resv_hugepages", "surplus_hugepages")
_READ_BYTES: Final = 4096
_UNITS_KB: Final = {"": 1 / 1024, "K": 1, "M": 1024, "G": 1024**2}
_SIZE: Final = re.compile(r"(\d{1,12})([KMG]?)", re.IGNORECASE)
_COUNT: Final = re.compile(r"\d{1,12}|\d{1,4}:\d{1,12}(,\d{1,4}:\d{1,12})*")


class HugePages:
    """Reads the pools of one host.

    folder        where the kernel has a folder for each size
    command_line  of the kernel
    """

    def __init__(self, folder: Path, command_line: Path = COMMAND_LINE) -> None:
        """Called when the agent begins: what there is now is what the host began with."""
        self._folder = folder
        asked = asked_at_boot(_text(command_line))
        self._wanted = {
            f"{size}/{what}": count
            for size, pool in self._pools().items()
            for what, count in (("boot", asked.get(size, 0)), ("at_start", pool[_POOL]))
            if count
        }

    def values(self) -> dict[str, int]:
        """What there is now, of sizes that have or had pages; empty where there are none."""
        return {
            name: count
            for size, pool in self._pools().items()
            if pool[_POOL] or any(name.startswith(f"{size}/") for name in self._wanted)
            for name, count in self._of(size, pool)
        }

    def _of(self, size: str, pool: dict[str, int]) -> Iterator[tuple[str, int]]:
        yield from ((f"{size}/{name}", count) for name, count in pool.items())
        yield from (each for each in self._wanted.items() if each[0].startswith(f"{size}/"))

    def _pools(self) -> dict[str, dict[str, int]]:
        found = {}
        for size in sorted(self._folder.glob("hugepages-*kB")):
            pool = {}
            for name in _FILES:
                with suppress(ValueError):
                    pool[name] = int(_text(size / name))
            if _POOL in pool:
                found[size.name] = pool
        return found


def asked_at_boot(command_line: str) -> dict[str, int]:
    """Size, as the kernel names its folder -> pages that the command line asks for.

    ``hugepages=N`` is about the size before it, ``hugepages=NODE:N,...`` about single nodes.
    Without a size it is about the default one, left out where the command line does not name it.
    """
    words = [word.partition("=") for word in command_line.split()]
    named = {name: value for name, _, value in words}
    size = _folder_of(named.get("default_hugepagesz", ""))
    found: dict[str, int] = {}
    for name, _, value in words:
        if name == "hugepagesz":
            size = _folder_of(value)
        elif name == "hugepages" and size and _COUNT.fullmatch(value):
            found[size] = sum(int(each.rpartition(":")[2]) for each in value.split(","))
    return found


def _folder_of(size: str) -> str:
    """``1G`` -> ``hugepages-1048576kB``; empty: no size."""
    match = _SIZE.fullmatch(size)
    if match is None:
        return ""
    return f"hugepages-{int(int(match[1]) * _UNITS_KB[match[2].upper()])}kB"


def _text(file: Path) -> str:
    try:
        with file.open("rb", buffering=0) as opened:
            return opened.read(_READ_BYTES).decode("ascii", "replace")
    except OSError:
        return ""
