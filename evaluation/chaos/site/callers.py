"""Who calls a site: clients of the API behind a load balancer, and agents of hosts."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from probers.ping_list.controller import PAUSE_S, TOTAL_DEADLINE_S, ControllerClient, Ready
from probers.ping_list.document import PingList
from probers.ping_list.poller import PingListPoller

_EACH_S: Final = 0.1
#: Between two looks of the load balancer at /readyz.
_LOOK_S: Final = 1.0
_ANSWER_S: Final = 60.0
_REQUESTS: Final = ("api/v1/incidents", "api/v1/summary", "healthz")


class ApiClients:
    """A client that asks the API ten times a second, through a load balancer that looks every
    second which replicas are ready, asks them in turn, and tries nothing twice.

    urls      of the replicas that are ready
    answered  requests; failed: what became of each other one
    """

    def __init__(self, urls: Callable[[], Sequence[str]]) -> None:
        self.answered = 0
        self.failed: list[str] = []
        self._urls = urls
        self._known, self._asked = urls(), ""
        self._choice = threading.Lock()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=each, name=each.__name__, daemon=True)
            for each in (self._balance, self._ask)
        ]
        for each in self._threads:
            each.start()

    def _balance(self) -> None:
        while not self._stop.wait(_LOOK_S):
            found = self._urls()
            with self._choice:
                self._known = found

    def uses(self, url: str) -> bool:
        """Whether the load balancer knows this replica, or waits for an answer of it."""
        with self._choice:
            return url in self._known or self._asked == url

    def _ask(self) -> None:
        number = 0
        while not self._stop.wait(_EACH_S):
            number += 1
            with self._choice:
                known = self._known
                self._asked = known[number % len(known)] if known else ""
            if not known:
                self.failed.append("no replica is ready")
                continue
            page = _REQUESTS[number % len(_REQUESTS)]
            try:
                url = f"{self._asked}{page}"
                with urllib.request.urlopen(url, timeout=_ANSWER_S) as answer:  # noqa: S310 — loopback
                    answer.read()
                self.answered += 1
            except (OSError, urllib.error.HTTPError) as why:
                self.failed.append(f"{page}: {why}")
            with self._choice:
                self._asked = ""

    def close(self) -> None:
        """Ask no more."""
        self._stop.set()
        for each in self._threads:
            each.join(_ANSWER_S)


class Agents:
    """The part of each agent that reads its host's ping list, with the agent's own intervals.

    tokens  of hosts
    lost    lists that an agent gave up, because no controller gave one for too long
    """

    def __init__(self, urls: Sequence[str], tokens: Mapping[str, str]) -> None:
        self.lost = 0
        self._lists: dict[str, PingList | None] = dict.fromkeys(tokens)
        self._pollers = [self._poller(urls, host, token) for host, token in tokens.items()]
        for each in self._pollers:
            each.start()

    def _poller(self, urls: Sequence[str], host: str, token: str) -> PingListPoller:
        client = ControllerClient(urls, host, token, Ready)

        def changed(found: PingList | None) -> None:
            self._lists[host] = found
            self.lost += found is None

        return PingListPoller(
            client.location, lambda _, __: None, changed, lambda _: None,
            pause_s=PAUSE_S, deadline_s=TOTAL_DEADLINE_S * len(urls), fetch=client,
        )  # fmt: skip

    def all_have_lists(self) -> bool:
        """Whether every host has a list with something to probe."""
        return all(found is not None and found.targets for found in self._lists.values())

    @property
    def failed(self) -> int:
        """Readings that no controller answered [count]."""
        return sum(each.counts["failed"] for each in self._pollers)

    @property
    def read(self) -> int:
        """Readings that were answered [count]."""
        return sum(each.counts["read"] for each in self._pollers)

    def close(self) -> None:
        """Ask no more."""
        for each in self._pollers:
            each.stop()
