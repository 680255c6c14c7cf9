"""The shape of a fabric: names, addresses and cables of a two- or three-tier Clos. No I/O.

    spine-0   spine-1            two tiers: every ToR has a link to every spine
     |   \\ /   |
    (agg-0 … agg-1 per pod)      three tiers: ToR to every agg of its pod, agg to every spine
     |   \\ /   |
    tor-0 … tor-3                NIC r of host h hangs on ToR (h // hosts_per_tor) x nics + r
     |        |
    host-0 … host-7              10.1.<tor>.<odd> per NIC, gateway one below (/31)
     |        |
    cont-0-0 … cont-7-0          172.<16 + r>.<h>.<c + 1> on rail r

With ``ipv6`` other addresses (``addresses``). ``build`` builds it; routes are in ``routes``,
vSwitches in ``overlay``, the topology document in ``document``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from schemas.component_ids import component, link
from testbed.netns.plan import addresses

_MOST_SWITCHES = 120  # of a tier below the spines: addresses of their cables end in 2 x number


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
    """A fabric's shape.

    aggs        agg switches per pod; 0: two tiers
    pods        of a three-tier fabric; the groups of hosts are dealt to them evenly
    containers  per host; container c belongs to tenant c % tenants
    vswitch     a Linux bridge, or Open vSwitch with its user-space datapath
    ipv6        of all addresses, VXLAN's too; else IPv4
    """

    hosts: int = 8
    nics: int = 2
    hosts_per_tor: int = 4
    spines: int = 2
    containers: int = 0
    fabric: str = "netns"
    aggs: int = 0
    pods: int = 1
    tenants: int = 2
    vswitch: Literal["bridge", "ovs"] = "bridge"
    ipv6: bool = False

    def __post_init__(self) -> None:
        if min(self.hosts, self.nics, self.hosts_per_tor, self.spines, self.tenants) < 1:
            raise ValueError(f"{self}: every count is at least 1")
        if self.hosts_per_tor > 120 or self.tors > _MOST_SWITCHES or self.spines > 200:
            raise ValueError(f"{self}: at most 120 ToRs, 120 hosts per ToR and 200 spines")
        if self.aggs < 0 or self.pods < 1 or self.aggs * self.pods > _MOST_SWITCHES:
            raise ValueError(f"{self}: at most 120 aggs, and at least 1 pod")
        if self.groups % self.pods or (self.pods > 1 and not self.aggs):
            raise ValueError(
                f"{self}: {self.pods} pods need aggs, and {self.groups} groups of "
                "hosts_per_tor hosts that they can share evenly"
            )
        if self.containers < 0 or (self.containers and (self.hosts > 250 or self.nics > 15)):
            raise ValueError(f"{self}: with containers at most 250 hosts and 15 NICs")

    @property
    def overlay_mtu(self) -> int:
        """Of containers' interfaces: the cables' less VXLAN's headers."""
        return 1430 if self.ipv6 else 1450

    @property
    def groups(self) -> int:
        """Groups of hosts that share their ToRs."""
        return -(-self.hosts // self.hosts_per_tor)

    @property
    def tors(self) -> int:
        """ToRs: one per rail and group of hosts."""
        return self.groups * self.nics

    @property
    def tors_per_pod(self) -> int:
        """ToRs of one pod."""
        return self.tors // self.pods

    def routers(self) -> list[str]:
        """Names of all switches, spines first."""
        return [
            *(f"spine-{s}" for s in range(self.spines)),
            *(f"agg-{a}" for a in range(self.aggs * self.pods)),
            *(f"tor-{t}" for t in range(self.tors)),
        ]

    def host_names(self) -> list[str]:
        """Names of all hosts: their node_sn."""
        return [f"host-{h}" for h in range(self.hosts)]

    def container_names(self) -> list[str]:
        """Names of all containers: their node_id."""
        return [f"cont-{h}-{c}" for h in range(self.hosts) for c in range(self.containers)]

    def nodes(self) -> list[str]:
        """Names of all nodes: switches, hosts and containers, one namespace each."""
        return [*self.routers(), *self.host_names(), *self.container_names()]

    def tenant_of(self, container: int) -> int:
        """The tenant of every host's container of this number."""
        return container % self.tenants

    def container_address(self, host: int, container: int, nic: int) -> str:
        """A container's address on a rail."""
        return addresses.overlay(self.ipv6, nic, host, container + 1)

    def container_mac(self, host: int, container: int, nic: int) -> str:
        """A container's hardware address on a rail; vSwitches are configured with it."""
        return f"02:00:{nic:02x}:{host:02x}:{container >> 8:02x}:{container & 255:02x}"

    def container_cable(self, host: int, container: int, nic: int) -> Cable:
        """vSwitch to container; the vSwitch's end has no address."""
        return Cable(
            (f"host-{host}", f"c{container}n{nic}", ""),
            (
                f"cont-{host}-{container}",
                f"eth{nic}",
                self.container_address(host, container, nic),
            ),
        )

    def tor_of(self, host: int, nic: int) -> int:
        """Number of the ToR that a NIC is cabled to."""
        return host // self.hosts_per_tor * self.nics + nic

    def pod_of(self, tor: int) -> int:
        """The pod of a ToR."""
        return tor // self.tors_per_pod

    def aggs_of(self, pod: int) -> range:
        """The agg switches of a pod."""
        return range(pod * self.aggs, (pod + 1) * self.aggs)

    def tors_of(self, pod: int) -> range:
        """The ToRs of a pod."""
        return range(pod * self.tors_per_pod, (pod + 1) * self.tors_per_pod)

    def nic_address(self, host: int, nic: int) -> str:
        """The NIC's address: its real_ip."""
        place = host % self.hosts_per_tor
        return self._address(addresses.RNICS, self.tor_of(host, nic), place * 2 + 1)

    def nic_cable(self, host: int, nic: int) -> Cable:
        """ToR to NIC."""
        tor, place = self.tor_of(host, nic), host % self.hosts_per_tor
        return Cable(
            (
                f"tor-{tor}",
                f"h{host}n{nic}",
                self._address(addresses.RNICS, tor, place * 2),
            ),
            (f"host-{host}", f"nic{nic}", self.nic_address(host, nic)),
        )

    def switch_cable(self, spine: int, tor: int) -> Cable:
        """Spine to ToR, in two tiers."""
        return self._between("spine", spine, "tor", tor, 2)

    def agg_cable(self, agg: int, tor: int) -> Cable:
        """Agg to ToR of its pod, in three tiers."""
        return self._between("agg", agg, "tor", tor, 3)

    def spine_cable(self, spine: int, agg: int) -> Cable:
        """Spine to agg, in three tiers."""
        return self._between("spine", spine, "agg", agg, 2)

    def switch_cables(self) -> list[Cable]:
        """All cables between switches."""
        if not self.aggs:
            return [self.switch_cable(s, t) for s in range(self.spines) for t in range(self.tors)]
        return [
            *(
                self.spine_cable(s, a)
                for s in range(self.spines)
                for a in range(self.aggs * self.pods)
            ),
            *(
                self.agg_cable(a, t)
                for p in range(self.pods)
                for a in self.aggs_of(p)
                for t in self.tors_of(p)
            ),
        ]

    def cables(self) -> list[Cable]:
        """All of the underlay."""
        nics = [self.nic_cable(h, n) for h in range(self.hosts) for n in range(self.nics)]
        return nics + self.switch_cables()

    def cable(self, a: str, b: str) -> Cable:
        """The cable between two switches, or between a switch and a NIC given by its address."""
        for cable in self.cables():
            names = {cable.upper[0], cable.lower[0]} | {cable.lower[2]}
            if {a, b} <= names:
                return cable
        raise ValueError(f"no cable joins {a!r} and {b!r}; name two switches, or one and a NIC")

    def link_id(self, cable: Cable) -> str:
        """The component id of an underlay cable."""
        upper, (node, _, address) = cable.upper[0], cable.lower
        kind = node.partition("-")[0]
        lower = component("rnic", address) if kind == "host" else component(kind, node)
        return link(component(upper.partition("-")[0], upper), lower)

    def _address(self, kind: int, group: int, number: int) -> str:
        return addresses.underlay(self.ipv6, kind, group, number)

    def _between(self, above: str, upper: int, below: str, lower: int, kind: int) -> Cable:
        return Cable(
            (f"{above}-{upper}", f"{below}{lower}", self._address(kind, upper, lower * 2)),
            (f"{below}-{lower}", f"{above}{upper}", self._address(kind, upper, lower * 2 + 1)),
        )
