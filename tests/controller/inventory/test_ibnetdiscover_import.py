"""ibnetdiscover's text: names of hosts and switches, cut output, what is no host.

The shape of the lines was recorded from the example of infiniband-diags' manual page and from
public outputs; contents are our own.
"""

from __future__ import annotations

from controller.inventory.assembly.assemble import Assembled, Choices, assemble
from controller.inventory.formats import ibnetdiscover

TWO_HOSTS = """
#
# Topology file: generated on Sun Nov 22 10:00:00 2026
#
vendid=0x2c9
devid=0xd2f0
switchguid=0xaa00(aa00)
Switch\t64 "S-000000000000aa00"\t\t# "MF0;leaf-1:MQM9700/U1" enhanced port 0 lid 4 lmc 0
[1]\t"H-000000000000b001"[1](b001) \t\t# "gpu1 mlx5_0" lid 9 4xNDR
[2]\t"H-000000000000b002"[1](b002) \t\t# "gpu2 mlx5_0" lid 10 4xNDR
[65]\t"H-000000000000c001"[1](c001) \t\t# "Mellanox Technologies Aggregation Node" lid 11 4xNDR

vendid=0x2c9
caguid=0xb001
Ca\t1 "H-000000000000b001"\t\t# "gpu1 mlx5_0"
[1](b001) \t"S-000000000000aa00"[1]\t\t# lid 9 lmc 0 "MF0;leaf-1:MQM9700/U1" lid 4 4xNDR

vendid=0x2c9
caguid=0xb002
Ca\t1 "H-000000000000b002"\t\t# "gpu2 mlx5_0"
[1](b002) \t"S-000000000000aa00"[2]\t\t# lid 10 lmc 0 "MF0;leaf-1:MQM9700/U1" lid 4 4xNDR

vendid=0x2c9
caguid=0xc001
Ca\t1 "H-000000000000c001"\t\t# "Mellanox Technologies Aggregation Node"
[1](c001) \t"S-000000000000aa00"[65]\t\t# lid 11 lmc 0 "MF0;leaf-1:MQM9700/U1" lid 4 4xNDR
"""


def made(text: str) -> Assembled:
    return assemble(ibnetdiscover.read(text.encode(), "ib.txt"), Choices())


def test_hosts_rnics_and_a_managed_switch_have_their_names() -> None:
    out = made(TWO_HOSTS)
    assert out.topology is not None, out.mistakes
    assert [host.node_sn for host in out.topology.hosts] == ["gpu1", "gpu2"]
    assert out.topology.hosts[0].rnics[0].real_ip == "fe80::b001"
    assert [switch.id for switch in out.topology.switches] == ["leaf-1"]
    assert out.notes == ["ib.txt:25: 'Mellanox Technologies Aggregation Node' is no host; left out"]


def test_unmanaged_switches_are_named_by_their_guid() -> None:
    out = made(TWO_HOSTS.replace('# "MF0;leaf-1:MQM9700/U1" enh', '# "Quantum Mellanox" enh'))
    assert out.topology is not None, out.mistakes
    assert [switch.id for switch in out.topology.switches] == ["S-000000000000aa00"]


def test_the_switches_of_a_chassis_have_names_of_their_own() -> None:
    text = 'Switch 36 "S-{0}" # "MF0;core:CS7520/{0}/U1" enhanced port 0 lid 4 lmc 0'
    found = ibnetdiscover.read("\n".join(map(text.format, ("a1", "b2"))).encode(), "ib.txt")
    assert list(found.kinds) == ["core/a1", "core/b2"]


def test_a_description_that_names_no_host_says_what_to_do() -> None:
    out = made(TWO_HOSTS.replace('"gpu2 mlx5_0"\n', '"MT23108 InfiniHost Mellanox Technologies"\n'))
    assert out.mistakes == [
        "ib.txt:20: the description 'MT23108 InfiniHost Mellanox Technologies' of "
        "H-000000000000b002 names no host; run ibnetdiscover with --node-name-map"
    ]


def test_output_that_is_cut_short_names_the_missing_node() -> None:
    out = made(TWO_HOSTS[: TWO_HOSTS.index("vendid=0x2c9\ncaguid=0xb002")])
    assert any("ib.txt:10: the peer H-000000000000b002 has no block" in m for m in out.mistakes)


def test_other_text_and_damaged_lines_are_mistakes() -> None:
    assert made("hello\nworld\n").mistakes == [
        "ib.txt: no Switch and no Ca block; give the output of ibnetdiscover"
    ]
    assert "ib.txt:2: no line of ibnetdiscover: '[1] \"H-zz\"'" in made('\n[1] "H-zz"').mistakes[0]
