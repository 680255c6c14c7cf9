"""The service counts what its lists cross: on request, as metrics, and again when they change."""

from __future__ import annotations

import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import Service

from controller.coverage.power import Naming
from controller.coverage.report import Coverage
from controller.service import coverage_count
from controller.service.coverage_count import Lists
from controller.service.live_coverage import Count

pytestmark = pytest.mark.anyio

HOSTS = 8
NAMING = Naming(
    level=1e-9, rest_level=1e-4, healthy=2e-4, dispersion=1.2, least_excess=0.004, hosts=2,
    window_s=30.0,
)  # fmt: skip


async def here(lists: Lists) -> Coverage:
    """Count in this process, in which it takes milliseconds."""
    return lists.report()


async def counted(service: Service, count: Count = here) -> bool:
    lists, topology = service.site.state.lists["f1"], service.site.topologies["f1"]
    return await service.site.coverage.count(topology, lists, NAMING, service.now_ms, count)


def links(service: Service) -> dict[str, float]:
    samples = (each for each in service.site.samples() if "links" in each.metric.name)
    return {each.labels[-1]: each.value for each in samples if len(each.labels) == 2}


async def test_links_are_covered_once_their_hosts_agents_have_registered() -> None:
    service = Service(two_tiers(HOSTS, 2))
    async with service.operator() as operator:
        assert (await operator.get("/api/v1/coverage/f1")).status_code == 503
        assert (await operator.get("/api/v1/coverage/elsewhere")).status_code == 404
        assert await counted(service)
        found = (await operator.get("/api/v1/coverage/f1")).json()
        everything = len(found["uncovered"])
        assert found["five_tuples"] == 0
        assert links(service)["uncovered"] == everything > HOSTS
        for number in range(HOSTS):
            await service.site.register(("f1", f"h{number:03}"), [])
        assert await counted(service)
        found = (await operator.get("/api/v1/coverage/f1", params={"links": True})).json()
        assert found["uncovered"] == []
        assert found["five_tuples"] > 0
        assert len(found["links"]) == everything
        assert {"link", "state", "smallest_loss"} <= found["links"][0].keys()
        assert links(service)["uncovered"] == 0


async def test_lists_that_have_not_changed_are_not_counted_again() -> None:
    service = Service(two_tiers(HOSTS, 2))
    assert await counted(service)
    assert not await counted(service)
    await service.site.register(("f1", "h000"), [])
    await service.site.register(("f1", "h001"), [])
    assert await counted(service)


async def test_a_process_of_its_own_counts_what_a_count_in_this_one_finds() -> None:
    service = Service(two_tiers(HOSTS, 2))
    for number in range(HOSTS):
        await service.site.register(("f1", f"h{number:03}"), [])
    assert await counted(service)
    here = service.site.coverage.of.pop("f1")
    assert await counted(service, coverage_count.counted)
    assert service.site.coverage.of["f1"].found == here.found
    assert here.found.five_tuples > 0


async def test_an_error_costs_one_count(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(two_tiers(HOSTS, 2))
    assert await counted(service)
    before = service.site.coverage.of["f1"]
    for number in range(2):
        await service.site.register(("f1", f"h{number:03}"), [])

    async def broken(_: Lists) -> Coverage:
        raise RuntimeError("no")

    assert await counted(service, broken)
    assert service.site.coverage.of["f1"] is before
    assert "cannot be counted" in caplog.text


async def test_agents_do_not_read_it() -> None:
    service = Service(two_tiers(HOSTS, 2))
    async with service.agent("h000") as agent:
        assert (await agent.get("/api/v1/coverage/f1")).status_code == 403
