"""``skeletonhunter probe``: has an agent probe another endpoint now, and prints what comes back."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from statistics import median
from typing import Annotated, Any, Literal

import msgspec
import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput, DependencyUnreachable

_LOST = 1


def register(app: typer.Typer) -> None:
    """Add ``probe``."""
    app.command(
        epilog="Example: SKH_CONTROLLER_TOKEN_FILE=me.token skeletonhunter probe gpu001 gpu017 "
        "--count 20"
    )(probe)


def probe(
    source: Annotated[
        str, typer.Argument(help="Host, container or address whose agent probes.", metavar="A")
    ],
    target: Annotated[
        str, typer.Argument(help="Host, container or address that it probes.", metavar="B")
    ],
    count: Annotated[int, typer.Option(min=1, max=1000, help="Probes of each five-tuple.")] = 5,
    interval: Annotated[
        float, typer.Option(min=0.05, max=900, help="Between two of them [s].")
    ] = 1.0,
    ports: Annotated[
        int, typer.Option(min=1, max=128, help="Five-tuples of each pair of endpoints.")
    ] = 1,
    traceroute: Annotated[
        bool, typer.Option("--traceroute", help="Trace each five-tuple once instead.")
    ] = False,
    fabric: Annotated[str, typer.Option(help="Where both names are of several fabrics.")] = "",
    output: Annotated[
        Literal["lines", "json"], typer.Option("--format", help="For people or programs.")
    ] = "lines",
) -> int:
    """Probe B from A now, over the controller, and print the answers as they come.

    Two hosts are probed rail by rail, two containers rail by rail inside their overlay. Exit code
    0: every probe was answered; 1: some were lost, or not all were sent; 2: it may not be asked.
    """
    from skeletonhunter import settings
    from skeletonhunter.controller_client import ControllerClient

    body = {
        "source": source, "target": target, "count": count, "interval_s": interval,
        "ports": ports, "traceroute": traceroute, "fabric": fabric,
    }  # fmt: skip
    lines = ControllerClient.of(settings.read(), "").stream(body, "probes")
    if output == "json":
        return _json(lines)
    return _printed(lines, f"{source} -> {target}")


def _json(lines: Iterable[dict[str, Any]]) -> int:
    end, cut = None, 0
    for line in lines:
        sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
        sys.stdout.flush()
        cut += _is_cut(line.get("route"))
        end = line.get("end")
    return _code(end, cut)


def _printed(lines: Iterable[dict[str, Any]], what: str) -> int:
    rtts: list[float] = []
    end, cut = None, 0
    for line in lines:
        cut += _is_cut(line.get("route"))
        if (request := line.get("request")) is not None:
            tuples = sum(len(each["src_ports"]) for each in request["targets"])
            terminal.echo(
                f"{what}: host {request['node_sn']} of fabric {request['fabric']}, "
                f"{tuples} five-tuples, {request['kind']} {request['request_id']}"
            )
        elif (found := line.get("probe")) is not None:
            terminal.echo(_probe_line(found))
            if found["rtt_us"] is not None:
                rtts.append(found["rtt_us"])
        elif (found := line.get("route")) is not None:
            hops = " ".join(hop or "*" for hop in found["hops"])
            terminal.echo(f"{_path(found)}  {found['dial']}  {hops}")
        else:
            end = line.get("end")
    if end is not None:
        terminal.echo(_summary(end, rtts))
    return _code(end, cut)


def _probe_line(found: dict[str, Any]) -> str:
    time = found["time"][11:23]
    if found["rtt_us"] is None:
        return f"{time}  {_path(found)}  {found['dial']}"
    return f"{time}  {_path(found)}  {found['rtt_us']:.1f} us"


def _path(found: dict[str, Any]) -> str:
    return f"{found['src_ip']}:{found['src_port']} -> {found['ip']}:{found['port']}"


def _summary(end: dict[str, Any], rtts: list[float]) -> str:
    """Counts, loss, round trips, and how it ended where that was not as asked."""
    words = []
    if end["sent"]:
        lost = end["sent"] - end["answered"]
        words.append(
            f"{end['sent']} sent, {end['answered']} answered, {100 * lost / end['sent']:.3g}% lost"
        )
    if rtts:
        words.append(f"round trip min/median/max {min(rtts):.1f}/{median(rtts):.1f}/"
                     f"{max(rtts):.1f} us")  # fmt: skip
    if end["state"] != "complete" or end["reason"]:
        words.append(f"{end['state']}: {end['reason']}".removesuffix(": "))
    return "; ".join(words) or "complete"


def _is_cut(route: dict[str, Any] | None) -> bool:
    """Whether a traceroute did not reach its end."""
    return route is not None and route["dial"] not in ("success", "refused")


def _code(end: dict[str, Any] | None, cut: int) -> int:
    if end is None:
        raise DependencyUnreachable("the controller has ended before the request did; ask again")
    if end["state"] == "refused":
        raise BadInput(f"the agent refuses: {end['reason']}")
    partly = end["state"] != "complete" or bool(end["reason"])
    return _LOST if partly or cut or end["answered"] < end["sent"] else 0
