"""``skeletonhunter-agent``: probes, answers, publishes -> skh.pings, skh.heartbeats."""

from __future__ import annotations

import gc
import signal
import sys
from dataclasses import replace
from random import Random
from typing import Final

from probers.agent import options as command_line
from probers.agent.agent import Agent
from probers.agent.descriptor_limits import raise_file_limit, shares
from probers.agent.log import say
from probers.agent.options import Options, UsageError
from probers.agent.ping_list import PingList, PingListError, check_owner
from probers.agent.poller import PingListPoller
from probers.agent.threads import ThreadDeaths
from probers.health.pages import Pages
from probers.health.server import HealthServer
from probers.probing.loop import LoopError
from probers.publishing.frames import MAX_FRAME_BYTES
from probers.publishing.publisher import Publisher, PublishError, PublishUsageError, publish_to
from probers.publishing.relay import Headers, Relay, RelayError
from probers.publishing.relay_limits import Limits
from probers.publishing.signer import Signer
from probers.rdma.verbs import RdmaError, device_names
from schemas import crash_report, topics
from schemas.printable import printable

_CLOSE_S: Final = 5.0  # for delivering what is left when the agent is stopped
_INTERRUPTED: Final = 130


def main(argv: list[str] | None = None) -> int:
    """Run the agent until SIGTERM or SIGINT; returns the exit code."""
    try:
        return _main(argv)
    except KeyboardInterrupt:  # before the agent's own handler of SIGINT is there
        return _INTERRUPTED
    except Exception as why:  # a defect of ours: a supervisor must be able to tell it from usage
        return crash_report.report("skeletonhunter-agent", why)


def _main(argv: list[str] | None) -> int:
    try:
        options = command_line.parse(argv)
        if options.engine == "rdma":
            _check_rdma()
        publisher = publish_to(
            options.publish,
            compression=options.compression,
            signer=Signer(options.sender_key),
            kafka=options.kafka,
        )
        return _serve(options, publisher)
    except (UsageError, PublishUsageError, PingListError, RelayError) as why:
        return _fail(2, str(why))
    except (PublishError, RdmaError) as why:
        return _fail(3, str(why))


def _serve(options: Options, publisher: Publisher) -> int:
    share = shares(raise_file_limit())
    agent = Agent(
        options,
        publisher,
        Random(),  # noqa: S311  # spreads probes; guards nothing
        max_sockets=share.sockets,
        tick=lambda: watch.tick(),
        refused=lambda: watch.forget(),
    )
    loop = agent.loop
    deaths = ThreadDeaths(loop.stop).install()

    def check(document: PingList, where: str) -> None:
        check_owner(document, where, options.node_sn, options.fabric)

    watch = PingListPoller(
        options.ping_list,
        check,
        agent.offer,
        lambda why: say("error", "ping-list-unreadable", why=why),
        interval_s=options.list_interval_s,
    )
    first: PingList | None = None
    if options.ping_list.startswith(("http://", "https://")):
        watch.turn()  # a controller that is away for a while is not a reason to stop answering
    else:
        first = watch.read()
    publisher.connect(options.connect_timeout_s)
    relays = _relays(options, publisher, share.connections)
    health: HealthServer | None = None
    if options.health_listen is not None:
        health = HealthServer(*options.health_listen, Pages(agent, watch, relays)).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: loop.stop())
    if first is not None:
        agent.offer(first)
    watch.start()
    gc.freeze()  # what is loaded now stays: not to be walked through again and again
    say("info", "started", node_sn=options.node_sn, publish=options.publish)
    failed: str | None = None
    try:
        agent.run()
    except LoopError as why:
        failed = str(why)
    watch.stop()
    if health is not None:
        health.close()
    for relay in relays:
        relay.close()
    left = publisher.close(_CLOSE_S)
    say("warning" if left else "info", "stopped", undelivered=left)
    failed = failed or deaths.why
    return 0 if failed is None else _fail(crash_report.INTERNAL_ERROR, failed)


def _check_rdma() -> None:
    """Say why there will be no RDMA_PING: no device, or an engine that has no schedule yet."""
    names = device_names()
    raise UsageError(
        f"RDMA_PING of {', '.join(names)} is not scheduled by the agent yet; "
        "use --engine udp, and try the device with python -m probers.rdma.ping"
    )


def _relays(options: Options, publisher: Publisher, connections: int) -> list[Relay]:
    def pass_on(topic: str, key: str, headers: Headers, payload: bytes) -> None:
        content_type = headers.pop(topics.CONTENT_TYPE).decode()
        publisher.publish(topic, key, payload, content_type, headers)

    every = Limits()
    count = max(1, len(options.relay_listen))  # the bounds are those of all of them together
    limits = replace(
        every,
        connections=max(1, connections // count),
        buffered_bytes=max(MAX_FRAME_BYTES, every.buffered_bytes // count),
        total_bytes_per_s=every.total_bytes_per_s / count,
    )
    started: list[Relay] = []
    try:
        for path, client in options.relay_listen:
            relay = Relay(path, pass_on, node_sn=options.node_sn, client=client, limits=limits)
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
