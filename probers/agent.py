"""``skeletonhunter-agent``: probes, answers, publishes -> skh.pings, skh.heartbeats."""

from __future__ import annotations

import gc
import signal
import sys
from random import Random
from typing import Final

from probers import options as command_line
from probers.daemon import Agent
from probers.health_server import HealthServer
from probers.limits import raise_file_limit, shares
from probers.log import say
from probers.loop import LoopError
from probers.options import Options, UsageError
from probers.pages import Pages
from probers.pinglist import PingList, PingListError, check_owner
from probers.publish import Publisher, PublishError, PublishUsageError, publish_to
from probers.rdma_verbs import RdmaError, device_names
from probers.relay import Headers, Relay, RelayError
from probers.relay_limits import Limits
from probers.threads import ThreadDeaths
from probers.watch import Watch
from schemas import topics

_CLOSE_S: Final = 5.0  # for delivering what is left when the agent is stopped
_INTERNAL: Final = 70  # exit code of a defect of ours


def main(argv: list[str] | None = None) -> int:
    """Run the agent until SIGTERM or SIGINT; returns the exit code."""
    try:
        options = command_line.parse(argv)
        if options.engine == "rdma":
            _check_rdma()
        publisher = publish_to(options.publish, compression=options.compression)
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

    watch = Watch(
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
    relay = _relay(options, publisher, share.connections)
    health: HealthServer | None = None
    if options.health_listen is not None:
        health = HealthServer(*options.health_listen, Pages(agent, watch, relay)).start()
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
    if relay is not None:
        relay.close()
    left = publisher.close(_CLOSE_S)
    say("warning" if left else "info", "stopped", undelivered=left)
    failed = failed or deaths.why
    return 0 if failed is None else _fail(_INTERNAL, failed)


def _check_rdma() -> None:
    """Say why there will be no RDMA_PING: no device, or an engine that has no schedule yet."""
    names = device_names()
    raise UsageError(
        f"RDMA_PING of {', '.join(names)} is not scheduled by the agent yet; "
        "use --engine udp, and try the device with python -m probers.rdma_ping"
    )


def _relay(options: Options, publisher: Publisher, connections: int) -> Relay | None:
    if options.relay_listen is None:
        return None

    def pass_on(topic: str, key: str, headers: Headers, payload: bytes) -> None:
        publisher.publish(topic, key, payload, headers[topics.CONTENT_TYPE].decode())

    limits = Limits(connections=connections)
    return Relay(options.relay_listen, pass_on, node_sn=options.node_sn, limits=limits).start()


def _fail(code: int, why: str) -> int:
    print(f"skeletonhunter-agent: {why}", file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
