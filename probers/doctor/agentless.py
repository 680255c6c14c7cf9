"""Whether the engines that kernels of peers answer can be used: each asks the own endpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from probers.agentless.engine import AgentlessEngine
from probers.agentless.icmp import IcmpEngine
from probers.agentless.probing import AgentlessOptions
from probers.agentless.tcp import TcpEngine
from probers.doctor.finding import Finding
from probers.net.five_tuple import FiveTuple
from probers.ping_list.document import Endpoint
from probers.probing.udp import Burst
from probers.process.loop import Loop


def engines(endpoints: list[Endpoint], options: AgentlessOptions) -> Iterator[Finding]:
    """One finding for each engine that is asked for, and more for endpoints without an answer."""
    ips = list(dict.fromkeys(each.ip for each in endpoints))
    if "tcp" in options.kinds:
        port = options.tcp_port
        flows = [FiveTuple((ip, 0), (ip, port)) for ip in ips]
        ended = _ask(flows, TcpEngine)
        yield from _findings("tcp", ended, f"let the firewall answer or reject TCP port {port}")
    if "icmp" in options.kinds:
        loop, identifier = Loop(), os.getpid() % 0xFFFF + 1
        engine = IcmpEngine(loop, lambda burst: None)
        refusals = [engine.refusal((ip, identifier)) for ip in ips]
        engine.close()
        loop.close()
        if why := next((each for each in refusals if each is not None), None):
            yield Finding("error", "icmp", why)
            return
        ended = _ask([FiveTuple((ip, identifier), (ip, 0)) for ip in ips], IcmpEngine)
        yield from _findings("icmp", ended, "let the firewall pass ICMP echoes")


def _ask(
    flows: list[FiveTuple], engine_of: Callable[[Loop, Callable[[Burst], None]], AgentlessEngine]
) -> dict[str, str]:
    """Probe own addresses once; returns how each probe ended."""
    ended: dict[str, str] = {}
    failures: list[Exception] = []

    def on_done(burst: Burst) -> None:
        ended[burst.flow.dst[0]] = burst.dial
        if len(ended) == len(flows):
            loop.stop()

    loop = Loop(failures.append)
    engine = engine_of(loop, on_done)
    for flow in flows:
        engine.probe(flow)
    if len(ended) < len(flows):
        loop.run()
    engine.close()
    loop.close()
    if failures:
        raise failures[0]
    return ended


def _findings(part: str, ended: dict[str, str], remedy: str) -> Iterator[Finding]:
    silent = [ip for ip, dial in ended.items() if dial == "timeout"]
    for ip in silent:
        yield Finding("error", part, f"{ip} does not answer itself", remedy)
    answered = sum(dial in ("success", "refused") for dial in ended.values())
    if answered:
        yield Finding("ok", part, f"{answered} endpoints answer")
