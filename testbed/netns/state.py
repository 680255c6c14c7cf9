"""State files of fabrics that outlive the command that built them: one JSON file each."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from testbed.netns import cpu_groups, machine
from testbed.netns.fabric import Fabric
from testbed.netns.faults.fault import Fault
from testbed.netns.machine import FabricError, Process
from testbed.netns.namespaces import require_tools
from testbed.netns.plan.plan import Plan
from testbed.netns.probes.agent import Agent
from testbed.scoring.truth import Truth

DIRECTORY: Final = Path("/run/skeletonhunter")
_NAME: Final = re.compile(r"[a-z][a-z0-9]{0,14}")
_SETTLING_S: Final = 0.3  # children of a killed builder may still create namespaces


class State(msgspec.Struct, kw_only=True):
    """The content of a state file.

    builder    the process that builds the fabric; built: whether it has finished
    collector  the relay that receives the agents' records; out: the directory of its files
    truths     fault id -> its line of truth.json
    """

    name: str
    plan: Plan
    builder: Process
    created_ns: int
    built: bool = False
    faults: list[Fault] = []
    last_fault: int = 0
    agents: list[Agent] = []
    collector: Process | None = None
    out: str = ""
    truths: dict[str, Truth] = {}

    @property
    def abandoned(self) -> bool:
        """Whether the fabric is not finished and its builder no longer runs."""
        return not self.built and not machine.alive(self.builder)

    def fabric(self) -> Fabric:
        """The fabric that this state describes."""
        fabric = Fabric(self.plan, name=self.name)
        fabric.faults = {fault.fault_id: fault for fault in self.faults}
        fabric.last_fault = self.last_fault
        fabric.agents = {agent.node: agent for agent in self.agents}
        return fabric

    def update(self, fabric: Fabric) -> None:
        """Record the faults and agents that the fabric has now."""
        self.faults = list(fabric.faults.values())
        self.last_fault = fabric.last_fault
        self.agents = list(fabric.agents.values())


class Store:
    """The state files of a directory; its methods raise FabricError (one line)."""

    def __init__(self, directory: Path = DIRECTORY) -> None:
        self.directory = directory

    def path(self, name: str) -> Path:
        """The state file of a fabric."""
        return self.directory / f"{name}.json"

    def names(self) -> list[str]:
        """Names of all fabrics of this directory."""
        return sorted(path.stem for path in self.directory.glob("*.json"))

    def load(self, name: str) -> State:
        """Read the state of one fabric."""
        try:
            return msgspec.json.decode(self.path(name).read_bytes(), type=State)
        except FileNotFoundError:
            known = ", ".join(self.names()) or "none"
            raise FabricError(
                f"no fabric {name!r} in {self.directory} (there: {known}); skeletonhunter fabric up"
            ) from None
        except (OSError, msgspec.MsgspecError) as why:
            raise FabricError(
                f"{self.path(name)}: {why}; skeletonhunter fabric down {name}"
            ) from why

    def only(self, name: str | None) -> str:
        """``name``, or the name of the only fabric of this directory."""
        known = self.names()
        if name is not None:
            return name
        if len(known) != 1:
            raise FabricError(
                f"{len(known)} fabrics in {self.directory} ({', '.join(known) or 'none'}); "
                "say which by --name, or build one with skeletonhunter fabric up"
            )
        return known[0]

    def save(self, state: State) -> None:
        """Write a state file atomically."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            fresh = self.directory / f".{state.name}"
            fresh.write_bytes(msgspec.json.format(msgspec.json.encode(state)))
            fresh.replace(self.path(state.name))
        except OSError as why:
            raise FabricError(f"{self.directory}: {why.strerror}; give another --state") from why

    @contextmanager
    def change(self, name: str) -> Iterator[tuple[State, Fabric]]:
        """Lock and load a fabric, and save its state afterwards, also when the change fails."""
        with self._locked():
            state = self.load(name)
            if not state.built:
                raise FabricError(
                    f"fabric {name!r} is not built; skeletonhunter fabric down {name}"
                )
            fabric = state.fabric()
            try:
                yield state, fabric
            finally:
                state.update(fabric)
                self.save(state)

    def build(self, name: str, plan: Plan) -> tuple[State, Fabric]:
        """Build a fabric; raises FabricError also when one of this name exists."""
        if not _NAME.fullmatch(name):
            raise FabricError(
                f"name {name!r}: give a small letter, then up to 14 letters or digits"
            )
        require_tools(plan)
        myself = machine.process(os.getpid())
        fabric = Fabric(plan, name=name)
        if myself is None:  # cannot happen: it runs this line
            raise FabricError("cannot read /proc")
        with self._locked():
            if self.path(name).exists() or machine.present(fabric.prefix):
                raise FabricError(
                    f"fabric {name!r} exists already; skeletonhunter fabric down {name}, "
                    "or give another --name"
                )
            state = State(name=name, plan=plan, builder=myself, created_ns=time.time_ns())
            self.save(state)
        try:
            fabric.build()
        except BaseException:
            self.path(name).unlink(missing_ok=True)
            raise
        state.built = True
        self.save(state)
        return state, fabric

    def remove(self, name: str) -> int:
        """Take a fabric down, also an abandoned one; returns the number of removed namespaces.

        Raises FabricError when there is no such fabric, or a namespace or process stays.
        """
        require_tools(Plan())
        prefix = f"{machine.PREFIX}-{name}-"
        known = self.path(name).exists()
        if not _NAME.fullmatch(name) or not (known or machine.present(prefix)):
            self.load(name)
        state: State | None = None
        with suppress(FabricError):  # remove the namespaces even if the file cannot be read
            state = self.load(name) if known else None
        if state is not None and not state.built and machine.alive(state.builder):
            raise FabricError(f"fabric {name!r} is being built by process {state.builder.pid}")
        gone = 0
        while left := machine.present(prefix):
            gone += len(left)
            machine.remove(left)
            if state is None or not state.built:
                time.sleep(_SETTLING_S)
        if state is not None:
            machine.end([agent.process for agent in state.agents])
            machine.end([state.collector] if state.collector else [])
        for group in cpu_groups.present(prefix):
            cpu_groups.remove(group)
        self.path(name).unlink(missing_ok=True)
        return gone

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            file = (self.directory / "lock").open("a")
        except OSError as why:
            raise FabricError(f"{self.directory}: {why.strerror}; give another --state") from why
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
