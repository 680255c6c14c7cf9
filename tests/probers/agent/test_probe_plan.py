"""The five-tuples of a list, reduced to the sockets that there are."""

from __future__ import annotations

from builders.agents.site import own_network

from probers.agent.probe_plan import fit
from probers.net.five_tuple import FiveTuple

NETWORK = own_network()


def flows(sources: int, targets: int = 2) -> list[FiveTuple]:
    return [
        FiveTuple((f"{NETWORK}.1", 20_000 + port), (f"127.0.2.{target}", 65300))
        for target in range(1, targets + 1)
        for port in range(sources)
    ]


def test_a_list_that_fits_is_probed_as_it_is() -> None:
    wanted = flows(10)
    assert fit(wanted, {(f"{NETWORK}.1", 65300)}, 11) == wanted


def test_a_list_that_is_too_long_loses_ports_before_it_loses_targets() -> None:
    wanted = [
        FiveTuple((f"{NETWORK}.{own}", 20_000 + port), (f"127.0.2.{peer}", 65300))
        for own in (1, 2) for peer in (1, 2, 3) for port in range(100)
    ]  # fmt: skip
    chosen = fit(wanted, {(f"{NETWORK}.1", 65300)}, 9)
    sources = {flow.src for flow in chosen}
    assert len(sources) == 8
    assert {(flow.src[0], flow.dst) for flow in chosen} == {
        (flow.src[0], flow.dst) for flow in wanted
    }
    assert len(chosen) == 3 * 8, "a socket serves every target of its address"
    assert chosen == [flow for flow in wanted if flow.src in sources], "in the list's order"
