"""``skeletonhunter-agent``: starts all threads of an agent and ends them in order."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from probers.agent import options as command_line
from probers.agent.agent import Agent
from probers.agent.list_source import ListSource
from probers.agent.options import Options, UsageError
from probers.agent.reload import Reload
from probers.containers.server import MAX_CONNECTIONS, ContainerServer
from probers.health.pages import Pages
from probers.health.server import HealthServer
from probers.ping_list.document import PingListError
from probers.process.descriptor_limits import raise_file_limit, shares
from probers.process.log import log_event
from probers.process.loop import LoopError
from probers.process.thread_failures import ThreadFailures
from probers.publishing.destination import publish_to
from probers.publishing.frames import MAX_FRAME_BYTES
from probers.publishing.publisher import Publisher, PublishError, PublishUsageError
from probers.publishing.relay import Headers, Identify, Relay, RelayError
from probers.publishing.relay.limits import Limits
from probers.publishing.signer import Signer
from probers.publishing.spool import SpoolError
from probers.requests.client import RequestClient
from probers.throughput.port_counters import PortCounters
from probers.throughput.reporter import ThroughputReporter
from schemas import crash_report, topics
from schemas.documents.requests.request import Request
from schemas.printable import printable

_CLOSE_S: Final = 5.0  # for delivering what is queued when the agent is stopped
_INTERRUPTED: Final = 130
DOCTOR: Final = "doctor"
PROBE: Final = "probe"


def main(argv: list[str] | None = None) -> int:
    """Run the agent until SIGTERM or SIGINT; returns the exit code."""
    try:
        return _main(argv)
    except KeyboardInterrupt:  # before the agent's own handler of SIGINT is installed
        return _INTERRUPTED
    except Exception as why:  # a defect of the agent: supervisors must distinguish it from usage
        return crash_report.report("skeletonhunter-agent", why)


def _main(argv: list[str] | None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    try:
        if arguments[:1] == [DOCTOR]:
            from probers.doctor import main as doctor  # only where it is asked for

            return doctor.run(arguments[1:])
        if arguments[:1] == [PROBE]:
            from probers.probe import main as probe

            return probe.main(arguments[1:])
        options = command_line.parse(arguments)
        signer = Signer(options.sender_key)
        publisher = publish_to(
            options.publish,
            compression=options.compression,
            signer=signer,
            kafka=options.kafka,
            spool=options.spool,
            spool_limits=options.spool_limits,
        )
        return _serve(arguments, options, signer, publisher)
    except (UsageError, PublishUsageError, PingListError, RelayError, SpoolError) as why:
        return _fail(2, str(why))
    except PublishError as why:
        return _fail(3, str(why))


def _serve(arguments: Sequence[str], options: Options, signer: Signer, publisher: Publisher) -> int:
    containers = ContainerServer(options.containers_listen) if options.containers_listen else None
    # A connection of a container takes two: itself, and its process.
    share = shares(raise_file_limit() - (0 if containers is None else 2 * MAX_CONNECTIONS))
    agent = Agent(
        options,
        publisher,
        Random(),  # noqa: S311  # spreads probes in time; no secret depends on it
        max_sockets=share.sockets,
        on_tick=lambda: lists.poller.watchdog_tick(),
        on_list_refused=lambda: lists.poller.report_unchanged(),
        announced=None if containers is None else containers.ready,
    )
    loop = agent.loop
    thread_failures = ThreadFailures(loop.stop).install()
    lists = ListSource(options, agent, containers)
    first = lists.first()
    publisher.connect(options.connect_timeout_s)
    identify = None if containers is None else containers.client_of
    relays = _relays(options, publisher, share.connections, identify)
    throughput = _throughput(options, publisher, agent)
    requests = _requests(options, agent, containers)
    health: HealthServer | None = None
    if options.health_listen is not None:
        pages = Pages(agent.status, lists.poller, relays, throughput, containers)
        health = HealthServer(*options.health_listen, pages).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: lists.end(loop))
    reload = Reload(arguments, options, signer, lists, requests)
    signal.signal(signal.SIGHUP, lambda *_: loop.post(reload))
    if first is not None:
        agent.offer(first)
    lists.start()
    if containers is not None:
        containers.start()
    if requests is not None:
        requests.start()
    if throughput is not None:
        throughput.start()
    gc.freeze()  # everything loaded so far stays: later collections need not visit it
    log_event("info", "started", node_sn=options.node_sn, publish=options.publish)
    failure: str | None = None
    try:
        agent.run()
    except LoopError as why:
        failure = str(why)
    lists.stop()
    if containers is not None:
        containers.close()
    if requests is not None:
        requests.stop()
    if throughput is not None:
        throughput.close()
    if health is not None:
        health.close()
    for relay in relays:
        relay.close()
    undelivered = publisher.close(_CLOSE_S)
    log_event("warning" if undelivered else "info", "stopped", undelivered=undelivered)
    failure = failure or thread_failures.first
    return 0 if failure is None else _fail(crash_report.INTERNAL_ERROR, failure)


def _throughput(options: Options, publisher: Publisher, agent: Agent) -> ThroughputReporter | None:
    if options.throughput is None:
        return None
    return ThroughputReporter(
        publisher, options.node_sn, options.encoding, lambda: agent.status.job_rnics,
        PortCounters(options.throughput, options.throughput_sources),
    )  # fmt: skip


def _requests(
    options: Options, agent: Agent, containers: ContainerServer | None
) -> RequestClient | None:
    """Asks the controller for requests, where there is one and the agent may do some; agents inside
    containers do theirs."""
    if not options.controller or not options.request_rate:
        return None

    def offer(requests: Sequence[Request]) -> None:
        agent.requests.offer(requests)
        if containers is not None:
            containers.ask(requests)

    return RequestClient(
        options.controller, options.node_sn, options.token, offer, agent.requests.readings
    )


def _relays(
    options: Options, publisher: Publisher, connections: int, identify: Identify | None
) -> list[Relay]:
    def pass_on(topic: str, key: str, headers: Headers, payload: bytes) -> None:
        content_type = headers.pop(topics.CONTENT_TYPE).decode()
        publisher.publish(topic, key, payload, content_type, headers)

    defaults = Limits()
    count = max(1, len(options.relay_listen))  # all relays together have the bounds of one
    limits = replace(
        defaults,
        connections=max(1, connections // count),
        buffered_bytes=max(MAX_FRAME_BYTES, defaults.buffered_bytes // count),
        total_bytes_per_s=defaults.total_bytes_per_s / count,
    )
    started: list[Relay] = []
    try:
        for path, client in options.relay_listen:
            relay = Relay(
                path, pass_on, node_sn=options.node_sn, client=client, limits=limits,
                identify=identify if client is None else None,
            )  # fmt: skip
            started.append(relay.start())
    except RelayError:
        for relay in started:
            relay.close()
        raise
    return started


def _fail(code: int, why: str) -> int:
    print(f"skeletonhunter-agent: {printable(' '.join(why.split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
