"""Slurm's commands as processes, without a shell; every method raises DependencyUnreachable."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from controller.slurm_drain.nodes import Node, NodesError, parse
from skeletonhunter.errors import BadInput, DependencyUnreachable

_TIMEOUT_S: Final = 60.0  # scontrol itself gives up on slurmctld sooner (MessageTimeout)
_SHOWN: Final = 300  # characters of what a command says


class Scontrol:
    """``scontrol`` and ``sinfo``, those on PATH."""

    def nodes(self) -> Mapping[str, Node]:
        """All nodes by name; raises BadInput too, for an output that cannot be read.

        sinfo is asked where scontrol does not know ``--json``, as before Slurm 23.02.
        """
        try:
            return _parsed("scontrol", _run(["scontrol", "--all", "show", "node", "--json"]))
        except DependencyUnreachable:
            return _parsed("sinfo", _run(["sinfo", "--all", "--Node", "--json"]))

    def update(self, arguments: Sequence[str]) -> str:
        """Have scontrol do it; what it says."""
        return _run(["scontrol", *arguments])


def _parsed(name: str, text: str) -> Mapping[str, Node]:
    try:
        return parse(text)
    except NodesError as why:
        raise BadInput(f"{name}: {why}") from why


def _run(words: list[str]) -> str:
    """Standard output; raises DependencyUnreachable."""
    try:
        done = subprocess.run(  # noqa: S603 — a list of words, the first one fixed
            words, capture_output=True, check=False, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError as why:
        raise DependencyUnreachable(
            f"{words[0]} is not on PATH; run this where Slurm's commands are"
        ) from why
    except (OSError, subprocess.TimeoutExpired) as why:
        raise DependencyUnreachable(f"{words[0]}: {why}") from why
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        said = " ".join((done.stderr.decode("utf-8", "replace") or text).split())[:_SHOWN]
        raise DependencyUnreachable(f"{' '.join(words[:2])}: exit code {done.returncode}: {said}")
    return text
