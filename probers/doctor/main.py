"""Runs the checks in order and prints their findings as they come."""

from __future__ import annotations

from collections.abc import Iterator

from probers.command_line import options as command_line
from probers.command_line.options import Options
from probers.doctor import agentless, host, network, services
from probers.doctor.finding import Finding
from probers.rdma import devices
from probers.throughput import interfaces
from schemas.printable import printable

FAILED = 1


def run(argv: list[str]) -> int:
    """Check this host for an agent with these options; returns 0, or 1 after an error.

    Raises what reading the options raises. Nothing is started, registered or published.
    """
    options = command_line.parse(argv)
    errors = warnings = 0
    for finding in findings(options):
        errors += finding.level == "error"
        warnings += finding.level == "warning"
        print(printable(finding.line), flush=True)
    print(f"{errors} errors, {warnings} warnings")
    return FAILED if errors else 0


def findings(options: Options) -> Iterator[Finding]:
    """All findings, the quick ones first."""
    yield from host.clock()
    yield from host.scheduling()
    yield from host.cpu_limit()
    yield from host.helper()
    yield from host.descriptors()
    yield from network.rdma()
    document, said = services.ping_list(options)
    yield from said
    if document is not None:
        yield from network.interfaces(document.endpoints, interfaces.by_address())
        yield from network.sockets(document.endpoints, options.listen_port)
        if options.agentless is not None:
            yield from agentless.engines(document.endpoints, options.agentless)
        if options.rdma is not None:
            yield from network.rdma_engine(document.endpoints, options.rdma, devices.SYS)
    yield from services.destination(options, options.connect_timeout_s)
    yield from services.spool(options)
