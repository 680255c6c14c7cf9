"""The fabric on paper: names, addresses and routes of a two-tier Clos with one plane per rail.

    spine-0   spine-1            every ToR has a link to every spine; ECMP hashes on ports
     |   \\ /   |
    tor-0 … tor-3                NIC r of host h hangs on ToR (h // hosts_per_tor) x nics + r
     |        |
    host-0 … host-7              10.1.<tor>.<odd> per NIC, gateway one below (/31)
     |        |
    cont-0-0 … cont-7-0          172.<16 + r>.<h>.<c + 1> on rail r: one VXLAN per rail between the
                                 hosts' bridges, with the NIC's address as tunnel end

Pure: what this says is built by ``fabric``.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.topology import Container, Endpoint, Host, Rnic, Switch, Topology

_LOCAL_PREFERENCE, _NIC_PREFERENCE, _NIC_TABLE = 100, 10, 101
_FIRST_VNI = 100
OVERLAY_MTU = 1450


@dataclass(frozen=True, slots=True)
class Cable:
    """A veth pair: (node, interface, address) of the upper and of the lower end; both /31."""

    upper: tuple[str, str, str]
    lower: tuple[str, str, str]

    def ends(self) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
        """Both ends, upper first."""
        return self.upper, self.lower


@dataclass(frozen=True, slots=True)
class Plan:
    """A fabric's shape."""

    hosts: int = 8
    nics: int = 2
    hosts_per_tor: int = 4
    spines: int = 2
    containers: int = 0  # per host
    fabric: str = "netns"

    def __post_init__(self) -> None:
        if min(self.hosts, self.nics, self.hosts_per_tor, self.spines) < 1:
            raise ValueError(f"{self}: every count is at least 1")
        if self.hosts_per_tor > 120 or self.tors > 120 or self.spines > 200:
            raise ValueError(f"{self}: at most 120 ToRs, 120 hosts per ToR and 200 spines")

        if self.containers < 0 or (self.containers and (self.hosts > 250 or self.nics > 15)):
            raise ValueError(f"{self}: with containers at most 250 hosts and 15 NICs")

    @property
    def tors(self) -> int:
        """ToRs: one per rail and group of hosts."""
        return -(-self.hosts // self.hosts_per_tor) * self.nics

    def routers(self) -> list[str]:
        """Names of all switches, spines first."""
        return [f"spine-{s}" for s in range(self.spines)] + [f"tor-{t}" for t in range(self.tors)]

    def host_names(self) -> list[str]:
        """Names of all hosts: their node_sn."""
        return [f"host-{h}" for h in range(self.hosts)]

    def container_names(self) -> list[str]:
        """Names of all containers: their node_id."""
        return [f"cont-{h}-{c}" for h in range(self.hosts) for c in range(self.containers)]

    def container_address(self, host: int, container: int, nic: int) -> str:
        """A container's address on a rail."""
        return f"172.{16 + nic}.{host}.{container + 1}"

    def tor_of(self, host: int, nic: int) -> int:
        """The ToR that a NIC hangs on."""
        return host // self.hosts_per_tor * self.nics + nic

    def nic_address(self, host: int, nic: int) -> str:
        """The NIC's address: its real_ip."""
        return f"10.1.{self.tor_of(host, nic)}.{host % self.hosts_per_tor * 2 + 1}"

    def nic_cable(self, host: int, nic: int) -> Cable:
        """ToR to NIC."""
        tor, place = self.tor_of(host, nic), host % self.hosts_per_tor
        return Cable(
            (f"tor-{tor}", f"h{host}n{nic}", f"10.1.{tor}.{place * 2}"),
            (f"host-{host}", f"nic{nic}", self.nic_address(host, nic)),
        )

    def switch_cable(self, spine: int, tor: int) -> Cable:
        """Spine to ToR."""
        return Cable(
            (f"spine-{spine}", f"tor{tor}", f"10.2.{spine}.{tor * 2}"),
            (f"tor-{tor}", f"spine{spine}", f"10.2.{spine}.{tor * 2 + 1}"),
        )

    def cables(self) -> list[Cable]:
        """All of them."""
        nics = [self.nic_cable(h, n) for h in range(self.hosts) for n in range(self.nics)]
        switches = [self.switch_cable(s, t) for s in range(self.spines) for t in range(self.tors)]
        return nics + switches

    def cable(self, a: str, b: str) -> Cable:
        """The cable between two switches, or between a switch and a NIC given by its address."""
        for cable in self.cables():
            names = {cable.upper[0], cable.lower[0]} | {cable.lower[2]}
            if {a, b} <= names:
                return cable
        raise ValueError(f"no cable joins {a!r} and {b!r}; name two switches, or one and a NIC")

    def routes(self, node: str) -> list[str]:
        """Lines for ``ip -batch`` in the node's namespace, once its links are up."""
        kind, _, number = node.partition("-")
        if kind == "spine":
            spine = int(number)
            return [
                f"route add 10.1.{tor}.0/24 via {self.switch_cable(spine, tor).lower[2]}"
                for tor in range(self.tors)
            ]
        if kind == "tor":
            tor = int(number)
            ways = " ".join(
                f"nexthop via {self.switch_cable(spine, tor).upper[2]}"
                for spine in range(self.spines)
            )
            # Without the black hole a packet for a NIC that is down would go back up for ever.
            return [f"route add 10.0.0.0/8 {ways}", f"route add blackhole 10.1.{tor}.0/24"]
        return self._host_routes(int(number))

    def _host_routes(self, host: int) -> list[str]:
        """Traffic from NIC r's address leaves by NIC r, even towards an address of the same host:
        the local table comes after the NICs' own tables for what the host itself sends."""
        lines = [f"rule add pref {_LOCAL_PREFERENCE} lookup local", "rule del pref 0"]
        for nic in range(self.nics):
            cable, table = self.nic_cable(host, nic), _NIC_TABLE + nic
            pref, own = _NIC_PREFERENCE + nic, cable.lower[2]
            lines += [
                f"route add default via {cable.upper[2]} dev nic{nic} table {table}",
                f"rule add pref {pref} from {own} iif lo lookup {table}",
            ]
        return lines

    def overlay(self, host: int) -> tuple[list[str], list[str]]:
        """A host's vSwitches: lines for ``ip -batch`` and for ``bridge -batch``. Every other host
        is listed as a tunnel end for broadcasts; unicast addresses are learnt."""
        links: list[str] = []
        ends: list[str] = []
        for nic in range(self.nics if self.containers else 0):
            links += [
                f"link add br{nic} type bridge",
                f"link add vx{nic} type vxlan id {_FIRST_VNI + nic} dstport 4789 "
                f"local {self.nic_address(host, nic)}",
                f"link set vx{nic} mtu {OVERLAY_MTU} master br{nic} up",
                f"link set br{nic} up",
                *(f"link set c{c}n{nic} master br{nic} up" for c in range(self.containers)),
            ]
            ends += [
                f"fdb append 00:00:00:00:00:00 dev vx{nic} "
                f"dst {self.nic_address(other, nic)} self permanent"
                for other in range(self.hosts)
                if other != host
            ]
        return links, ends

    def topology(self) -> Topology:
        """The document that the localiser and the controller read."""
        addresses: dict[str, list[str]] = {name: [] for name in self.routers()}
        for cable in self.cables():
            for node, _, address in cable.ends():
                if node in addresses:
                    addresses[node].append(address)
        return Topology(
            fabric=self.fabric,
            hosts=[
                Host(
                    f"host-{h}",
                    [
                        Rnic(self.nic_address(h, n), n, f"tor-{self.tor_of(h, n)}")
                        for n in range(self.nics)
                    ],
                    f"pod-{h // self.hosts_per_tor}",
                )
                for h in range(self.hosts)
            ],
            switches=[
                Switch(name, "dsw" if name.startswith("spine") else "asw", "", addresses[name])
                for name in self.routers()
            ],
            links=[
                (f"tor-{t}", f"spine-{s}") for s in range(self.spines) for t in range(self.tors)
            ],
            containers=[
                self._container(h, c) for h in range(self.hosts) for c in range(self.containers)
            ],
        )

    def _container(self, host: int, container: int) -> Container:
        endpoints = [
            Endpoint(self.container_address(host, container, nic), self.nic_address(host, nic))
            for nic in range(self.nics)
        ]
        return Container(f"cont-{host}-{container}", f"host-{host}", "job-0", "tenant-0", endpoints)
