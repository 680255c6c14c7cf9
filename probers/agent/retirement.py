"""How an agent ends when another one on the same host takes over: see ``probers.net.handover``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from probers.agent.agent import Agent
from probers.agent.threads import Threads
from probers.command_line.options import Options
from probers.net.handover import Predecessor
from probers.publishing.publisher import Publisher

_CLOSE_S: Final = 1.0  # for delivering what is queued; the rest is in the spool


class Retirement:
    """Waits for a successor, and gives it the agent's sockets."""

    def __init__(
        self, options: Options, agent: Agent, threads: Threads, publisher: Publisher
    ) -> None:
        """Raises HandoverError where ``options.handover`` cannot be served."""
        self._agent, self._threads, self._publisher = agent, threads, publisher
        self._spooled = bool(options.spool)
        #: Messages that were not delivered when the publisher was closed; None: it is open.
        self.undelivered: int | None = None
        self._predecessor = Predecessor(
            agent.loop, Path(options.handover),
            on_successor=lambda: agent.retire(self._release), on_ready=agent.loop.stop,
        )  # fmt: skip

    def give(self) -> bool:
        """After the loop has ended: give the sockets to the successor, if one has asked; whether it
        has. Raises HandoverError when it has gone meanwhile."""
        self._predecessor.close()
        self._predecessor.give(self._agent.descriptors)
        return self._predecessor.asked

    def _release(self) -> None:
        """Close what the successor opens while this agent still answers."""
        self._threads.close()
        if self._spooled:
            self.undelivered = self._publisher.close(_CLOSE_S)
        self._predecessor.released()
