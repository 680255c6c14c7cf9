"""Cables, hosts, rails and tiers of cable lists: what is inferred, and every mistake in it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from controller.inventory.assembly.assemble import Assembled, Choices, assemble
from controller.inventory.assembly.rails import natural, rails
from controller.inventory.formats import cable_list
from controller.inventory.found import Port, joined

#        border        off every path between hosts
#       s1    s2
#      a1  x  a2       four hosts with two rails
CLOS = """
a_device,a_port,b_device,b_port
h1,mlx5_0,a1,1
h1,mlx5_1,a2,1
h2,mlx5_0,a1,2
h2,mlx5_1,a2,2
a1,31,s1,1
a1,32,s2,1
a2,31,s1,2
a2,32,s2,2
s1,9,border,1
s2,9,border,2
"""
HOSTS = """
host,port,ip,pod
h1,mlx5_0,10.0.0.1,p1
h1,mlx5_1,10.0.0.2,p1
h2,mlx5_0,10.0.0.3,p1
h2,mlx5_1,10.0.0.4,p1
"""


def made(cables: str = CLOS, hosts: str = HOSTS, **choices: Any) -> Assembled:
    found = [cable_list.read(cables.strip().encode(), "c.csv")]
    if hosts:
        found.append(cable_list.read(hosts.strip().encode(), "h.csv"))
    return assemble(joined(found), Choices(**choices))


def tiers(out: Assembled) -> dict[str, str]:
    assert out.topology is not None, out.mistakes
    return {switch.id: switch.tier for switch in out.topology.switches}


def test_the_upper_of_two_tiers_is_dsw_and_a_border_switch_is_left_out() -> None:
    out = made()
    assert tiers(out) == {"a1": "asw", "a2": "asw", "s1": "dsw", "s2": "dsw"}
    assert out.notes == [
        "on no shortest path between hosts, and left out: border; --tier NAME=dsw keeps one"
    ]


def test_a_tier_that_is_given_counts() -> None:
    assert tiers(made(tiers={"s*": "psw", "border": "dsw"})) == {
        "a1": "asw", "a2": "asw", "s1": "psw", "s2": "psw", "border": "dsw",
    }  # fmt: skip


def test_a_pattern_without_a_switch_is_a_mistake() -> None:
    assert made(tiers={"q*": "psw"}).mistakes == [
        "--tier q*: no switch has such a name; correct or remove it"
    ]


def test_a_switch_beyond_three_tiers_is_a_mistake() -> None:
    chain = ["h1,e,a1,1", "h2,e,a2,1"]
    path = ["a1", "b1", "c1", "d", "c2", "b2", "a2"]
    chain += [f"{x},to{y},{y},to{x}" for x, y in pairwise(path)]
    out = made("\n".join(["a_device,a_port,b_device,b_port", *chain]),
               "host,port,ip\nh1,e,10.0.0.1\nh2,e,10.0.0.2")  # fmt: skip
    assert out.mistakes == [
        "switch 'd' is 3 links from the access switches, beyond three tiers; name its tier with "
        "--tier, or leave it out with --ignore"
    ]


def test_parallel_cables_are_one_link() -> None:
    out = made(CLOS + "a1,33,s1,7\n")
    assert out.topology is not None
    assert out.topology.links.count(("a1", "s1")) == 1


def test_all_mistakes_of_all_files_are_named_at_once() -> None:
    cables = CLOS + "h9,,a1,7\na1,1,s2,9\n"
    hosts = HOSTS + "h2,mlx5_2,10.0.0.4,p1\nh1,mlx5_0,10.0.0.7,p1\nh2,mlx5_3,10.0.0.8,p2\n"
    assert made(cables, hosts).mistakes == [
        "c.csv:12: no a_port; complete or remove the row",
        "h.csv:7: h1:mlx5_0 is listed already, at h.csv:2; remove one row",
        "h.csv:8: h2 is in pod 'p1' in an earlier row and in 'p2' here; a host is in one pod",
        "c.csv:13: a1:1 is cabled to s2:9 and, by c.csv:2, to h1:mlx5_0; remove the wrong one",
        "c.csv:13: s2:9 is cabled to a1:1 and, by c.csv:11, to border:2; remove the wrong one",
        "h.csv:6: h2:mlx5_2 has the address 10.0.0.4 of h2:mlx5_1 (h.csv:5); correct one",
        "h.csv:6: no input has a cable of h2:mlx5_2; cabled are mlx5_0, mlx5_1; correct the row",
        "h.csv:8: no input has a cable of h2:mlx5_3; cabled are mlx5_0, mlx5_1; correct the row",
    ]


def test_rails_can_be_given_by_port_names_in_order() -> None:
    out = made(hosts="", host_names=("h*",), rails=("mlx5_1", "mlx5_0"))
    assert [each.split(":")[0] for each in out.mistakes] == ["host 'h1'", "host 'h2'"]
    listed = made(rails=("mlx5_1", "mlx5_0"))
    assert listed.topology is not None
    assert [(r.rail, r.real_ip) for r in listed.topology.hosts[0].rnics] == [
        (0, "10.0.0.2"), (1, "10.0.0.1"),
    ]  # fmt: skip


def test_two_ports_of_a_host_on_one_rail_are_a_mistake() -> None:
    out = made(hosts=HOSTS.replace("pod", "rail").replace("p1", "3"))
    assert out.mistakes[0] == (
        "host 'h1': mlx5_0 and mlx5_1 are both rail 3; correct the hosts file or --rails"
    )


def test_what_is_ignored_takes_no_part() -> None:
    out = made(CLOS + "h1,eno1,oob,1\n", ignore=("oob", "border"))
    assert out.mistakes == []
    assert "statements of cables left out by --ignore: 6" in out.notes


def test_a_host_without_a_cable_keeps_the_rails_of_its_other_ports() -> None:
    ports = [Port("h1", "mlx5_2"), Port("h1", "mlx5_10"), Port("h2", "mlx5_10")]
    assert rails(ports) == {ports[0]: 0, ports[1]: 1, ports[2]: 1}


def test_hosts_of_another_naming_scheme_have_rails_of_their_own() -> None:
    ports = [Port("h1", "mlx5_0"), Port("h1", "mlx5_1"), Port("h2", "eth4"), Port("h2", "eth5")]
    assert [rails(ports)[port] for port in ports] == [0, 1, 0, 1]


def test_numbers_in_names_sort_by_value() -> None:
    assert sorted(["e10", "e9", "e9s2"], key=natural) == ["e9", "e9s2", "e10"]


def test_a_row_per_host_with_its_switches_is_read() -> None:
    table = "ip,DSW,PSW,ASW\nx1,G6,P1,S1\nx2,G6,P2,S2\n"
    out = made(table, "")
    assert tiers(out) == {"S1": "asw", "S2": "asw", "P1": "psw", "P2": "psw", "G6": "dsw"}


@pytest.mark.parametrize("text", ["", "a,b\n1,2", "host,port\nh,1"])
def test_an_unknown_header_says_which_there_are(text: str) -> None:
    (mistake,) = cable_list.read(text.encode(), "x.csv").mistakes
    assert mistake.startswith("x.csv:1: the header")
    assert "a_device,a_port,b_device,b_port" in mistake


def rnics(out: Assembled) -> list[tuple[str, int, tuple[str, ...]]]:
    assert out.topology is not None, out.mistakes
    return [(r.real_ip, r.rail, r.tors) for host in out.topology.hosts for r in host.rnics]


def test_ports_that_the_hosts_file_joins_are_one_rnic_of_several_access_switches() -> None:
    hosts = "host,port,ip\nh1,mlx5_0+mlx5_1,10.0.0.1\nh2,mlx5_0+mlx5_1,10.0.0.2"
    out = made(hosts=hosts)
    assert rnics(out) == [("10.0.0.1", 0, ("a1", "a2")), ("10.0.0.2", 0, ("a1", "a2"))]
    assert tiers(out) == {"a1": "asw", "a2": "asw", "s1": "dsw", "s2": "dsw"}


def test_rails_of_bonds_are_in_the_order_of_their_ports() -> None:
    cables = CLOS + "h1,mlx5_2,a1,3\nh1,mlx5_3,a2,3\n"
    hosts = "host,port,ip\nh1,mlx5_2+mlx5_3,10.0.0.2\nh1,mlx5_0+mlx5_1,10.0.0.1\nh2,mlx5_0,10.0.0.3"
    both = ("a1", "a2")
    assert rnics(made(cables, hosts))[:2] == [("10.0.0.1", 0, both), ("10.0.0.2", 1, both)]


def test_a_bond_whose_ports_have_one_switch_names_it_once() -> None:
    cables = CLOS + "h1,mlx5_2,a1,3\n"
    hosts = "host,port,ip\nh1,mlx5_0+mlx5_2,10.0.0.1\nh2,mlx5_0,10.0.0.2"
    assert rnics(made(cables, hosts))[0] == ("10.0.0.1", 0, ("a1",))


def test_a_port_without_a_cable_in_a_bond_is_a_mistake() -> None:
    assert made(hosts="host,port,ip\nh1,mlx5_0+mlx5_7,10.0.0.1").mistakes == [
        "h.csv:2: no input has a cable of h1:mlx5_7; cabled are mlx5_0, mlx5_1; correct the row"
    ]


@pytest.mark.parametrize("row", ["mlx5_0", "mlx5_1+mlx5_2", "mlx5_2+mlx5_2"])
def test_a_port_is_in_one_row_once(row: str) -> None:
    hosts = f"host,port,ip\nh1,mlx5_0+mlx5_1,10.0.0.1\nh1,{row},10.0.0.2"
    (mistake,) = made(hosts=hosts).mistakes
    assert mistake.startswith("h.csv:3: ")
    assert mistake.endswith(" is listed already; a port is in one row, once")


def test_a_host_with_a_row_for_each_of_two_access_switches_is_bonded_over_both() -> None:
    rows = "host,asw,psw,dsw\nh1,a1,p1,d1\nh1,a2,p1,d1\nh2,a3,p2,d1"
    assert rnics(made(rows, hosts="")) == [("h1", 0, ("a1", "a2")), ("h2", 0, ("a3",))]
