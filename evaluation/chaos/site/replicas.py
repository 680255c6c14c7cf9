"""Two replicas of the API and of the controller, replaced one by one while they are called."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from controller.service.tokens import agent_line, new_token
from evaluation.chaos.site.callers import Agents, ApiClients
from evaluation.chaos.site.process import COMMAND, Process, Unfinished, wait_for
from testbed.services.ports import free_port

#: An API drains for so long at most [s]; a second signal ends it when no caller asks it any more.
_DRAIN_S: Final = 120
_PAGE: Final = re.compile(r"page (http://\S+/)")
_REPLICAS: Final = 2
#: Hosts of the fabric whose agents ask for their lists [count].
_AGENTS: Final = 8


class Replicas:
    """Two APIs behind a load balancer, two controllers that agents know.

    run          starts a process: its name in logs, module, arguments, environment
    folder       for the file of tokens
    environment  where broker and store are
    hosts        of the fabric, of which the first few have agents
    ``close`` ends the callers, not the processes.
    """

    def __init__(
        self,
        run: Callable[..., Process],
        folder: Path,
        environment: Mapping[str, str],
        fabric: str,
        hosts: Sequence[str],
    ) -> None:
        self._run = run
        self._environment = environment
        self._asked = threading.Lock()
        tokens = {host: new_token() for host in hosts[:_AGENTS]}
        self._tokens = folder / "tokens"
        self._tokens.touch(mode=0o600)
        self._tokens.write_text(
            "".join(agent_line((fabric, host), token) for host, token in tokens.items())
        )
        self._ports = [free_port() for _ in range(_REPLICAS)]
        self._apis = [self._start_api() for _ in range(_REPLICAS)]
        self._controllers = [self._start_controller(port) for port in self._ports]
        for each in self._apis:
            wait_for(each.ready, "an API is ready")
        wait_for(lambda: self._leader() is not None, "a controller leads")
        self.api = ApiClients(self._api_urls)
        urls = [f"http://127.0.0.1:{port}" for port in self._ports]
        self.agents = Agents(urls, tokens)
        wait_for(self.agents.all_have_lists, "all agents have their lists")

    def _start_api(self) -> Process:
        return self._run(
            "api", COMMAND, "api", "--port", "0",
            **self._environment, SKH_API_DRAIN_S=str(_DRAIN_S), SKH_API_RATE="0",
        )  # fmt: skip

    def _start_controller(self, port: int) -> Process:
        return self._run(
            "controller", COMMAND, "controller", "--port", str(port),
            **self._environment, SKH_CONTROLLER_TOKENS=str(self._tokens),
        )  # fmt: skip

    def _api_urls(self) -> list[str]:
        """Of the replicas that are ready: what a load balancer knows."""
        with self._asked:
            apis = [*self._apis]
        return [_url(each) for each in apis if each.ready()]

    def _leader(self) -> int | None:
        return next((at for at, each in enumerate(self._controllers) if each.ready()), None)

    def roll_api(self) -> None:
        """As a Deployment does: one more replica; once it is ready the oldest is asked to end. It
        does when the load balancer has seen that it is not ready."""
        new, old = self._start_api(), self._apis[0]
        wait_for(new.ready, "the new API is ready")
        with self._asked:
            self._apis.append(new)
        old.process.terminate()
        wait_for(lambda: not self.api.uses(_url(old)), "the load balancer leaves the old API")
        old.end()
        with self._asked:
            self._apis.pop(0)

    def roll_controller(self) -> None:
        """Ask the one that leads to end; once the other one leads, start it again."""
        leader = self._leader()
        if leader is None:
            raise Unfinished("no controller leads")
        self._controllers[leader].end()
        wait_for(lambda: self._leader() not in (None, leader), "the other controller leads")
        self._controllers[leader] = self._start_controller(self._ports[leader])

    def close(self) -> None:
        """End the callers."""
        self.api.close()
        self.agents.close()


def _url(api: Process) -> str:
    """Where an API that has been ready answers."""
    found = _PAGE.search(api.log.read_text())
    return found[1] if found else ""
