"""Small clusters as topology documents and placements, for tests of ping lists."""

from __future__ import annotations

import msgspec

from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import State
from schemas.documents.times import rfc3339_of_ms
from schemas.documents.topology import Endpoint, Host, Rnic, Switch, Topology

T0_MS = 1_790_000_000_000


def two_tiers(hosts: int = 8, rails: int = 2, hosts_per_tor: int = 4, spines: int = 4) -> Topology:
    #   spine-0 .. spine-3
    #   tor-<group>-<rail>       NIC r of host h is 10.<r>.<h>.1
    tors = [f"tor-{g}-{r}" for g in range(-(-hosts // hosts_per_tor)) for r in range(rails)]
    return Topology(
        fabric="f1",
        hosts=[
            Host(
                f"h{h:03}",
                [Rnic(f"10.{r}.{h}.1", r, f"tor-{h // hosts_per_tor}-{r}") for r in range(rails)],
                f"pod-{h // hosts_per_tor}",
            )
            for h in range(hosts)
        ],
        switches=[
            *(Switch(f"spine-{s}", "dsw") for s in range(spines)),
            *(Switch(tor, "asw") for tor in tors),
        ],
        links=[(tor, f"spine-{s}") for tor in tors for s in range(spines)],
    )


def bonded(hosts: int = 8, hosts_per_tor: int = 4, spines: int = 4) -> Topology:
    """An rnic a host, bonded over both ToRs of its group."""
    wide = two_tiers(hosts, 2, hosts_per_tor, spines)
    return msgspec.structs.replace(
        wide,
        hosts=[
            Host(each.node_sn, [Rnic(first.real_ip, 0, asws=[first.asw, second.asw])], each.pod)
            for each in wide.hosts
            for first, second in [each.rnics]
        ],
    )


def placement(
    number: int, host: int, state: State = "ready", *, job: str = "job-a", rails: int = 2,
    second: int = 0,
) -> Placement:  # fmt: skip
    """Container c<number> with an endpoint 172.<16 + r>.<number>.1 on each rail of its host."""
    return Placement(
        node_id=f"c{number}", node_sn=f"h{host:03}", state=state, job=job, fabric="f1",
        valid_from=rfc3339_of_ms(T0_MS + 1000 * second),
        endpoints=[Endpoint(f"172.{16 + r}.{number}.1", f"10.{r}.{host}.1") for r in range(rails)],
    )  # fmt: skip
