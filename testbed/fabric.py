"""A real data-centre fabric on one machine: network namespaces, veth cables, ECMP, real faults.

Needs root, iproute2, nftables and util-linux. Everything it makes carries a name of its own, so
several fabrics can stand at once; all of it is gone when the context ends.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from itertools import count, product
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from schemas.topology import Topology
from testbed.fabric_plan import OVERLAY_MTU, Cable, Plan

_PACKAGES: Final = {"ip": "iproute2", "nft": "nftables", "nsenter": "util-linux"}
_NAMESPACES: Final = Path("/run/netns")
_PREFIX: Final = "skh"
_PATIENCE_S: Final = 5.0
_run_numbers = count()

_SETTINGS: Final = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/fib_multipath_hash_policy": "1",
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv4/icmp_msgs_per_sec": "100000",
    "net/ipv4/icmp_errors_use_inbound_ifaddr": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/conf/all/accept_local": "1",
    "net/bridge/bridge-nf-call-iptables": "0",
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
}

_LOSS: Final = """\
table netdev {table} {{
  chain ingress {{
    type filter hook ingress device "{interface}" priority 0; policy accept;
    meta protocol ip numgen random mod 10000 <= {last} counter drop
  }}
}}
"""


class FabricError(RuntimeError):
    """The fabric could not be built, changed or taken down; the message says what failed."""


def missing() -> list[str]:
    """What this machine lacks to build a fabric; empty when nothing does."""
    lacks = [f"{tool} (apt install {package})" for tool, package in _PACKAGES.items()
             if shutil.which(tool) is None]  # fmt: skip
    if os.name != "posix" or os.geteuid() != 0:
        lacks.insert(0, "root")
    return lacks


class Fabric:
    """Hosts behind ToRs and spines; a context manager.

    with Fabric(Plan()) as fabric:
        agent = fabric.popen("host-0", ["skeletonhunter-agent", ...])
        fabric.loss(("tor-0", "spine-1"), 30.0)
        fabric.heal()
    """

    def __init__(self, plan: Plan | None = None) -> None:
        self.plan = plan or Plan()
        self.topology: Topology = self.plan.topology()
        self._run = f"{_PREFIX}-{os.getpid()}-{next(_run_numbers)}"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._losses: dict[tuple[str, str], str] = {}  # (node, interface) -> nft table
        self._down: set[tuple[int, int]] = set()

    def __enter__(self) -> Fabric:
        lacks = missing()
        if lacks:
            raise FabricError(f"a namespace fabric needs {', '.join(lacks)}")
        sweep()
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def namespace(self, node: str) -> str:
        """Name of the network namespace of a host, container or switch."""
        plan = self.plan
        if node not in (*plan.host_names(), *plan.routers(), *plan.container_names()):
            raise ValueError(f"no node {node!r} here; there are host-N, cont-N-M, tor-N, spine-N")
        return f"{self._run}-{node}"

    def popen(self, host: str, argv: Sequence[str], **kwargs: Any) -> subprocess.Popen[bytes]:
        """Start a process in a node's network (its files are this machine's); ended on close."""
        command = ["nsenter", f"--net={_NAMESPACES / self.namespace(host)}", "--", *argv]
        process: subprocess.Popen[bytes] = subprocess.Popen(command, **kwargs)  # noqa: S603  # the caller's command is the point
        self._processes.append(process)
        return process

    def loss(self, link: tuple[str, str], percent: float) -> None:
        """Drop ``percent`` of the IP packets that cross a link, in both directions. Link: two
        switches, or a switch and a NIC's address. Verified to be in place; heal() removes it."""
        if not 0 < percent <= 100:
            raise ValueError(f"loss of {percent} %: give more than 0 and at most 100")
        share = max(1, round(percent * 100))
        for node, interface, _ in self.plan.cable(*link).ends():
            table = f"skh_loss_{interface}"
            self._nft(node, _LOSS.format(table=table, interface=interface, last=share - 1))
            self._losses[node, interface] = table
            if "counter" not in self._nft(node, f"list table netdev {table}"):
                raise FabricError(f"loss on {node} {interface} is not in place after it was set")

    def dropped(self, link: tuple[str, str]) -> int:
        """Packets that the loss on this link has eaten so far, both directions."""
        total = 0
        for node, interface, _ in self.plan.cable(*link).ends():
            text = self._nft(node, f"list table netdev {self._losses[node, interface]}")
            total += sum(int(number) for number in re.findall(r"counter packets (\d+)", text))
        return total

    def nic_down(self, host: str, nic: int) -> None:
        """Pull a NIC's cable (at the switch's end: the NIC loses its carrier, keeps its routes)."""
        number = int(host.removeprefix("host-"))
        self._set_carrier(self.plan.nic_cable(number, nic), up=False)
        self._down.add((number, nic))

    def heal(self) -> None:
        """Remove every fault; verified to be gone."""
        for (node, interface), table in list(self._losses.items()):
            self._nft(node, f"delete table netdev {table}")
            if table in self._nft(node, "list tables"):
                raise FabricError(f"loss on {node} {interface} is still there after its removal")
            del self._losses[node, interface]
        for host, nic in list(self._down):
            self._set_carrier(self.plan.nic_cable(host, nic), up=True)
            self._down.discard((host, nic))

    def close(self) -> None:
        """End all processes, remove all namespaces; raises FabricError if something stays."""
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
        give_up_at = time.monotonic() + _PATIENCE_S
        for process in self._processes:
            try:
                process.wait(max(0.0, give_up_at - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _remove(name for name in _present() if name.startswith(f"{self._run}-"))
        self._losses.clear()
        self._down.clear()

    def _build(self) -> None:
        plan = self.plan
        nodes = [*plan.routers(), *plan.host_names(), *plan.container_names()]
        spaces = {node: self.namespace(node) for node in nodes}
        _ip([], [f"netns add {space}" for space in spaces.values()])
        # One shell for all settings of a namespace; settings that this kernel lacks are skipped.
        script = "; ".join(f"echo {value} > /proc/sys/{name}" for name, value in _SETTINGS.items())
        for space in spaces.values():
            _call(["nsenter", f"--net={_NAMESPACES / space}", "--", "sh", "-c",
                   f"{{ {script}; }} 2>/dev/null; true"])  # fmt: skip
        lines: dict[str, list[str]] = {node: ["link set lo up"] for node in nodes}
        cables = []
        for cable in plan.cables():
            (a, a_port, _), (b, b_port, _) = cable.ends()
            cables.append(_veth(spaces[a], a_port, spaces[b], b_port))
            for node, port, address in cable.ends():
                lines[node] += [f"addr add {address}/31 dev {port}", f"link set {port} up"]
        for node in (*plan.routers(), *plan.host_names()):
            lines[node] += plan.routes(node)
        for host, container, nic in product(
            range(plan.hosts), range(plan.containers), range(plan.nics)
        ):
            inside, outside = f"cont-{host}-{container}", f"host-{host}"
            cables.append(
                _veth(spaces[inside], f"eth{nic}", spaces[outside], f"c{container}n{nic}")
            )
            address = plan.container_address(host, container, nic)
            lines[inside] += [
                f"addr add {address}/16 dev eth{nic}",
                f"link set eth{nic} mtu {OVERLAY_MTU} up",
            ]
        _ip([], cables)
        for host in range(plan.hosts):
            lines[f"host-{host}"] += plan.overlay(host)[0]
        for node in nodes:
            _ip(["-n", spaces[node]], lines[node])
        for host in range(plan.hosts if plan.containers else 0):
            ends = "\n".join(plan.overlay(host)[1]) + "\n"
            _call(["bridge", "-n", spaces[f"host-{host}"], "-batch", "-"], ends)

    def _set_carrier(self, cable: Cable, *, up: bool) -> None:
        (switch, port, _), (host, nic, _) = cable.ends()
        _ip(["-n", self.namespace(switch)], [f"link set {port} {'up' if up else 'down'}"])
        give_up_at = time.monotonic() + _PATIENCE_S
        while time.monotonic() < give_up_at:
            shown = _call(["ip", "-n", self.namespace(host), "-o", "link", "show", nic])
            if ("NO-CARRIER" not in shown and "LOWERLAYERDOWN" not in shown) == up:
                return
            time.sleep(0.02)
        raise FabricError(f"{host} {nic} did not {'get' if up else 'lose'} its carrier")

    def _nft(self, node: str, script: str) -> str:
        space = _NAMESPACES / self.namespace(node)
        return _call(["nsenter", f"--net={space}", "--", "nft", "-f", "-"], script + "\n")


def _veth(a: str, a_port: str, b: str, b_port: str) -> str:
    return f"link add name {a_port} netns {a} type veth peer name {b_port} netns {b}"


def sweep() -> None:
    """Remove namespaces of fabrics whose process is gone (it was killed, or the power failed)."""
    stale = []
    for name in _present():
        match = re.fullmatch(rf"{_PREFIX}-(\d+)-\d+-[a-z]+(-\d+)+", name)
        if match and not Path(f"/proc/{match[1]}").exists():
            stale.append(name)
    _remove(stale)


def _present() -> list[str]:
    return [path.name for path in _NAMESPACES.glob(f"{_PREFIX}-*")]


def _remove(names: Iterable[str]) -> None:
    gone = list(names)
    if gone:
        _ip(["-force"], [f"netns del {name}" for name in gone])
    left = sorted(set(gone).intersection(_present()))
    if left:
        raise FabricError(f"namespaces {', '.join(left)} are still there; ip netns del them")


def _ip(options: list[str], lines: list[str]) -> None:
    _call(["ip", *options, "-batch", "-"], "\n".join(lines) + "\n")


def _call(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603  # fixed argument lists
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines()
        raise FabricError(f"{' '.join(command[:6])}: {why[0] if why else done.returncode}")
    return done.stdout
