"""Where an agent's ping list comes from, and the threads that read it."""

from __future__ import annotations

from time import monotonic_ns
from typing import Final

from probers.agent.agent import Agent
from probers.command_line.options import Options
from probers.containers.server import ContainerServer
from probers.ping_list.controller import PAUSE_S, TOTAL_DEADLINE_S, ControllerClient
from probers.ping_list.document import PingList, check_owner
from probers.ping_list.host_agent import CONTAINER_DEADLINE_S, CONTAINER_PAUSE_S, HostAgentClient
from probers.ping_list.poller import PingListPoller
from probers.ping_list.registration_watch import RegistrationWatch
from probers.process.log import log_event
from probers.process.loop import Loop

#: A container's agent goes on answering for so long after it has said that it drains: until then
#: other agents have their new lists.
DRAIN_S: Final = 5.0


class ListSource:
    """A file or URL, the controller, or the host's agent; ``poller`` reads it.

    containers  get the host's list too
    """

    def __init__(self, options: Options, agent: Agent, containers: ContainerServer | None) -> None:
        self._options, self._agent, self._containers = options, agent, containers
        self._watch: RegistrationWatch | None = None
        self._client: ControllerClient | None = None
        self._host_agent: HostAgentClient | None = None
        self.poller = self._make_poller()

    def _make_poller(self) -> PingListPoller:
        options, agent = self._options, self._agent

        def check(document: PingList, where: str) -> None:
            check_owner(document, where, options.node_sn, options.fabric)

        def unreadable(why: str) -> None:
            log_event("error", "ping-list-unreadable", why=why)

        interval_s = options.list_interval_s
        if options.host_agent:
            self._host_agent = HostAgentClient(
                options.host_agent, lambda: agent.status.ready, agent.requests.offer
            )
            return PingListPoller(
                self._host_agent.location, check, self._offer, unreadable,
                interval_s=interval_s, pause_s=CONTAINER_PAUSE_S,
                deadline_s=CONTAINER_DEADLINE_S, fetch=self._host_agent,
            )  # fmt: skip
        if not options.controllers:
            return PingListPoller(
                options.ping_list, check, self._offer, unreadable, interval_s=interval_s
            )
        client = self._client = ControllerClient(
            options.controllers, options.node_sn, options.token, lambda: agent.status.ready
        )
        if self._containers is not None:
            self._watch = RegistrationWatch(client.register_changes)
        return PingListPoller(
            client.location, check, self._offer, unreadable,
            interval_s=interval_s, pause_s=PAUSE_S,
            deadline_s=TOTAL_DEADLINE_S * len(options.controllers), fetch=client,
        )  # fmt: skip

    def first(self) -> PingList | None:
        """Read for the first time; raises PingListError for a file. A controller that is away for a
        while must not stop the agent's replies."""
        options = self._options
        if options.ping_list and not options.ping_list.startswith(("http://", "https://")):
            return self.poller.read()
        self.poller.poll()
        return None

    def start(self) -> None:
        """Read again and again."""
        self.poller.start()
        if self._watch is not None:
            self._watch.start()

    def reload(self, token: str) -> None:
        """Read soon, from the controller with this token."""
        if self._client is not None:
            self._client.use_token(token)
        self.poller.read_soon()

    def stop(self) -> None:
        """Read no more."""
        self.poller.stop()
        if self._watch is not None:
            self._watch.stop()

    def end(self, loop: Loop) -> None:
        """Stop the loop: at once, or when a container has drained; again: at once. For signals."""
        if self._host_agent is None or self._host_agent.draining:
            loop.stop()
        else:
            self._host_agent.draining = True
            loop.post(lambda: self._drain(loop))

    def _drain(self, loop: Loop) -> None:
        log_event("info", "draining", stops_after_s=DRAIN_S)
        if self._host_agent is not None:
            self._host_agent.say()
        loop.call_at(monotonic_ns() + int(DRAIN_S * 1e9), loop.stop)

    def _offer(self, document: PingList | None) -> None:
        self._agent.offer(document)
        if self._containers is not None:
            self._containers.offer(document)
