"""``skeletonhunter-agent``: starts all threads of an agent and ends them in order."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from threading import Event
from typing import Final

from probers.agent.agent import Agent
from probers.agent.list_source import ListSource
from probers.agent.reload import Reload
from probers.agent.retirement import Retirement
from probers.agent.threads import Threads
from probers.command_line import options as command_line
from probers.command_line.options import Options, UsageError
from probers.containers.server import MAX_CONNECTIONS, ContainerServer
from probers.net.handover import HandoverError, Successor
from probers.ping_list.document import PingListError
from probers.process.descriptor_limits import raise_file_limit, shares
from probers.process.log import choose_form, log_event, writes_json
from probers.process.loop import LoopError
from probers.process.thread_failures import ThreadFailures
from probers.publishing.destination import publish_to
from probers.publishing.publisher import Publisher, PublishError, PublishUsageError
from probers.publishing.relay import RelayError
from probers.publishing.signer import Signer
from probers.publishing.spool import SpoolError
from schemas import crash_report
from schemas.compiled import native
from schemas.printable import printable

_CLOSE_S: Final = 5.0  # for delivering what is queued when the agent is stopped
_YOUNG_OBJECTS: Final = 20_000  # before a collection looks for cycles: some seconds of probes
_INTERRUPTED: Final = 130
DOCTOR: Final = "doctor"
PROBE: Final = "probe"
_FORMAT: Final = "SKH_LOG_FORMAT"


def main(argv: list[str] | None = None) -> int:
    """Run the agent until SIGTERM or SIGINT; returns the exit code."""
    try:
        return _main(argv)
    except KeyboardInterrupt:  # before the agent's own handler of SIGINT is installed
        return _INTERRUPTED
    except Exception as why:  # a defect of the agent: supervisors must distinguish it from usage
        if writes_json():
            return crash_report.report(
                "skeletonhunter-agent", why, lambda line: log_event("error", "failed", why=line)
            )
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
        if not choose_form(os.environ.get(_FORMAT) or "text"):
            raise UsageError(f"{_FORMAT} must be text or json")
        options = command_line.parse(arguments)
        # Before the spool is opened, which two agents cannot have at once.
        successor = Successor.ask(Path(options.handover)) if options.handover else None
        signer = Signer(options.sender_key)
        publisher = publish_to(
            options.publish,
            compression=options.compression,
            signer=signer,
            kafka=options.kafka,
            spool=options.spool,
            spool_limits=options.spool_limits,
        )
        return _serve(arguments, options, signer, publisher, successor)
    except (
        UsageError,
        PublishUsageError,
        PingListError,
        RelayError,
        SpoolError,
        HandoverError,
    ) as why:
        return _fail(2, str(why))
    except PublishError as why:
        return _fail(3, str(why))


def _serve(
    arguments: Sequence[str],
    options: Options,
    signer: Signer,
    publisher: Publisher,
    successor: Successor | None,
) -> int:
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
    threads = Threads(options, publisher, agent, lists, containers, share.connections)
    retirement = Retirement(options, agent, threads, publisher) if options.handover else None
    told_to_stop = Event()

    def stop(*_: object) -> None:
        told_to_stop.set()
        lists.end(loop)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    reload = Reload(arguments, options, signer, lists, threads.requests)
    signal.signal(signal.SIGHUP, lambda *_: loop.post(reload))
    if successor is not None:
        agent.adopt(successor.take())
    if first is not None:
        agent.offer(first)
    threads.start()
    gc.freeze()  # everything loaded so far stays: later collections need not visit it
    gc.set_threshold(_YOUNG_OBJECTS)  # hardly any garbage is in cycles
    log_event("info", "started", node_sn=options.node_sn, publish=options.publish,
              helper=native.why_not() or "compiled")  # fmt: skip
    failure: str | None = None
    try:
        agent.run()
    except LoopError as why:
        failure = str(why)
    threads.close()
    handed_over = False
    try:
        handed_over = retirement is not None and retirement.give()
    except HandoverError as why:
        failure = failure or str(why)
    undelivered = None if retirement is None else retirement.undelivered
    if undelivered is None:
        undelivered = publisher.close(_CLOSE_S)
    if handed_over:
        # A supervisor would start a process that ends again, and that would take the sockets back.
        log_event("info", "handed-over", undelivered=undelivered)
        told_to_stop.wait()
    log_event("warning" if undelivered else "info", "stopped", undelivered=undelivered)
    failure = failure or thread_failures.first
    return 0 if failure is None else _fail(crash_report.INTERNAL_ERROR, failure)


def _fail(code: int, why: str) -> int:
    if writes_json():
        log_event("error", "failed", why=" ".join(why.split()))
    else:
        print(f"skeletonhunter-agent: {printable(' '.join(why.split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
