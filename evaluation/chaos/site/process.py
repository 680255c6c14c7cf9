"""Processes of ours, as operators start them: killed, paused, continued, and asked for metrics."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

_HEALTH: Final = re.compile(r"health and metrics (http://\S+/)")
_SAMPLE: Final = re.compile(r"^(skh_\w+(?:\{[^}]*\})?) (\S+)$", re.MULTILINE)
_ASK_S: Final = 2.0
COMMAND: Final = "skeletonhunter.cli"
#: Time-outs bound hangs, not slowness.
LONG_S: Final = 300.0
_LOOK_S: Final = 0.2
_NOT_COMPILED: Final = "PYTHONDONTWRITEBYTECODE"


class Unfinished(RuntimeError):
    """A condition did not come true in time, or a process ended by itself."""


def wait_for(condition: Callable[[], bool], what: str, within_s: float = LONG_S) -> None:
    """Look again and again until it holds; raises Unfinished when the time is over."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise Unfinished(f"not within {within_s:.0f} s: {what}")
        time.sleep(_LOOK_S)  # between two looks at a condition with a deadline


class Process:
    """A Python module as a process; ``log`` holds what it says.

    tree  whose modules are run; None: those of this one
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        tree: Path | None = None,
    ) -> None:
        self.log = log
        self.environment = environment
        of_tree = {} if tree is None else {"PYTHONPATH": str(tree)}
        # Modules are compiled once, as in an image: compiling them takes 2 s of each start.
        compiled = {"PYTHONPYCACHEPREFIX": str(log.parent / "modules"), _NOT_COMPILED: ""}
        with log.open("ab") as out:
            self.process = subprocess.Popen(  # noqa: S603 — our own modules
                [sys.executable, "-m", module, *arguments],
                stdout=out, stderr=out, cwd=tree,
                env={**os.environ, **compiled, **of_tree, **environment},
            )  # fmt: skip

    @property
    def running(self) -> bool:
        """Whether it has not ended; a paused one has not."""
        return self.process.poll() is None

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        self.process.kill()
        self.process.wait(30)

    def pause(self) -> None:
        """Stop its execution (SIGSTOP) until ``resume``."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue its execution."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self, within_s: float = 120) -> int:
        """Ask it to end (SIGTERM), then end it; returns the exit code."""
        if self.running:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(within_s)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode

    def end(self) -> None:
        """Ask it to end (SIGTERM); raises Unfinished where it fails."""
        if code := self.stop():
            raise Unfinished(f"{self.log.stem} was asked to end, and ended with {code}")

    def ready(self) -> bool:
        """Whether /readyz answers 200."""
        return self._get("readyz") is not None

    def metrics(self) -> Counter[str] | None:
        """Name with labels, as on /metrics -> value; None when it does not answer."""
        text = self._get("metrics")
        if text is None:
            return None
        return Counter({name: float(value) for name, value in _SAMPLE.findall(text)})

    def _get(self, page: str) -> str | None:
        found = _HEALTH.search(self.log.read_text())
        if found is None or not self.running:
            return None
        try:
            with urllib.request.urlopen(f"{found[1]}{page}", timeout=_ASK_S) as answer:  # noqa: S310
                text: str = answer.read().decode()
                return text
        except (OSError, urllib.error.HTTPError):
            return None
