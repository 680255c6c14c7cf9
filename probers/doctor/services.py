"""What the agent talks to: the source of its list, the broker or relay; and its spool."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from probers.command_line.options import Options
from probers.doctor.finding import Finding
from probers.ping_list import fetch
from probers.ping_list.controller import ControllerClient, Ready
from probers.ping_list.controllers import Controllers
from probers.ping_list.document import (
    PingList,
    PingListError,
    check_owner,
    parse,
    restrict,
    split_by_permission,
)
from probers.publishing.destination import publish_to
from probers.publishing.publisher import PublishError, PublishUsageError
from probers.publishing.signer import Signer


def ping_list(options: Options) -> tuple[PingList | None, list[Finding]]:
    """The list, from where the agent gets it, and what is to be said of it. None: it cannot be
    read; a container's list comes from its host's agent, which is not asked here."""
    if options.host_agent:
        if Path(options.host_agent).is_socket():
            return None, [Finding("ok", "list", f"from the host's agent, {options.host_agent}")]
        return None, [
            Finding("error", "list", f"{options.host_agent} is not the socket of the host's agent",
                    "start that with --containers-listen and mount its socket")
        ]  # fmt: skip
    where, started = options.ping_list, monotonic()
    try:
        if options.controllers:
            raw, where = Controllers(options.controllers).first(lambda url: _asked(url, options))
        else:
            raw = fetch.fetch(where)
        document = parse(raw, where)
        check_owner(document, where, options.node_sn, options.fabric)
    except PingListError as why:
        return None, [Finding("error", "list", str(why))]
    own = restrict(document, layer=options.layer, node_id=options.node_id)
    _, forbidden = split_by_permission(own.targets, options.allowed)
    found = [
        Finding("ok", "list", f"{where}: {len(own.endpoints)} endpoints, {len(own.targets)} targets"
                f" in {(monotonic() - started) * 1e3:.0f} ms")
    ]  # fmt: skip
    if forbidden:
        found.append(
            Finding("error", "list", f"{len(forbidden)} targets are outside of what may be probed, "
                    f"{forbidden[0].ip} the first", "add --allow-cidr, or correct the list")
        )  # fmt: skip
    return own, found


def _asked(controller: str, options: Options) -> tuple[bytes, str]:
    """The list of a controller, without registering, and its place; raises PingListError."""
    client = ControllerClient([controller], options.node_sn, options.token, Ready)
    headers = {"Authorization": f"Bearer {options.token}"}
    return fetch.ask(client.location, headers=headers).body, client.location


def destination(options: Options, timeout_s: float) -> Iterator[Finding]:
    """Whether what the agent measures would arrive."""
    try:
        publisher = publish_to(
            options.publish, signer=Signer(options.sender_key), kafka=options.kafka
        )
        publisher.connect(timeout_s)
    except (PublishError, PublishUsageError) as why:
        yield Finding("error", "publish", str(why))
        return
    publisher.close(timeout_s)
    yield Finding("ok", "publish", f"{options.publish} answers")


def spool(options: Options) -> Iterator[Finding]:
    """Whether --spool can be written, and has room."""
    if not options.spool:
        if options.publish.startswith("kafka:"):
            yield Finding("warning", "spool", "none: while Kafka is away for more than a minute, "
                          "records are lost", "give --spool FOLDER")  # fmt: skip
        return
    folder, wanted = Path(options.spool), options.spool_limits.max_bytes
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = folder / f".doctor-{os.getpid()}"
        probe.touch()
        probe.unlink()
        free = os.statvfs(folder)
    except OSError as why:
        yield Finding("error", "spool", f"{folder}: {why.strerror}", "give a folder of the agent")
        return
    room = free.f_bavail * free.f_frsize
    if room < wanted:
        yield Finding("warning", "spool", f"{folder}: {room / 1e6:.0f} MB free, "
                      f"{wanted / 1e6:.0f} MB may be used", "lower --spool-mbytes")  # fmt: skip
    else:
        yield Finding("ok", "spool", f"{folder}, up to {wanted / 1e6:.0f} MB")
