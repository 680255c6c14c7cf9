"""Slurm's host list expressions, as ``gpu[001-004,007],login1``. Pure.

Source: Slurm, "scontrol show hostnames" and its manual page: ranges in brackets keep the width of
their first number; several brackets in a name stand for all combinations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Final

from controller.sources.slurm.parameters import DEFAULT

_PART: Final = re.compile(r"\[([^\[\]]*)\]|([^\[\],\s]+)")
_ITEM: Final = re.compile(r"(?:\[[^\[\]]*\]|[^\[\],\s])+")
_RANGE: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_NONE: Final = ("", "(null)", "None", "None assigned")
_SHOWN: Final = 100  # characters of an expression in a message


class HostListError(ValueError):
    """The expression cannot be read; one line."""


def expand(text: str, most: int = DEFAULT.most_hosts) -> list[str]:
    """The hosts in the expression's order; raises HostListError, also for more than ``most``."""
    if text.strip() in _NONE:
        return []
    hosts: list[str] = []
    at = 0
    while True:
        item = _ITEM.match(text, at)
        if item is None:
            raise _error(text, f"no host at character {at + 1}")
        parts = [_choices(found, text, most) for found in _PART.finditer(item[0])]
        count = 1
        for part in parts:
            count *= len(part)
        if len(hosts) + count > most:
            raise _error(text, f"more than {most:,} hosts")
        hosts += map("".join, product(*parts))
        at = item.end()
        if at == len(text):
            return hosts
        if text[at] != ",":
            raise _error(text, f"{text[at]!r} at character {at + 1}")
        at += 1


def _choices(part: re.Match[str], text: str, most: int) -> list[str]:
    """What a part of a name may be."""
    return [part[2]] if part[2] is not None else list(_numbers(part[1], text, most))


def _numbers(ranges: str, text: str, most: int) -> Iterator[str]:
    total = 0
    for each in ranges.split(","):
        found = _RANGE.fullmatch(each)
        if found is None:
            raise _error(text, f"range {each!r} is no number and no FIRST-LAST")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise _error(text, f"range {each!r} ends before it begins")
        total += last - first + 1
        if total > most:
            raise _error(text, f"more than {most:,} hosts")
        yield from (str(number).zfill(len(found[1])) for number in range(first, last + 1))


def _error(text: str, what: str) -> HostListError:
    return HostListError(f"host list {text[:_SHOWN]!r}: {what}; write it as gpu[001-004,007]")
