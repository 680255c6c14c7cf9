"""The blacklist over HTTP: for operators only, in three formats, with its metrics."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import T0_MS, Service
from builders.schemas.incidents import NIC

from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339_of_ms

pytestmark = pytest.mark.anyio

WHERE = "/api/v1/blacklist"


def incident(component: str, **more: Any) -> Incident:
    return msgspec.structs.replace(
        NIC, incident_id=component, component=component, tie_set=[component], fabric="f1",
        updated_at=rfc3339_of_ms(T0_MS), **more,
    )  # fmt: skip


def service_with(*incidents: Incident) -> Service:
    service = Service(two_tiers(4, 2))
    for each in incidents:
        service.site.advice.take(each)
    return service


async def test_operators_read_it_as_json_for_kubernetes_and_for_slurm() -> None:
    service = service_with(incident("host:h001"))
    async with service.operator() as operator:
        listed = (await operator.get(WHERE)).json()
        assert [each["node_sn"] for each in listed["entries"]] == ["h001"]
        assert (listed["left_out"], listed["resolved"]) == ([], [])
        service.site.advice.take(incident("host:h001", version=9, state="resolved"))
        over = (await operator.get(WHERE)).json()
        assert [each["incident_id"] for each in over["resolved"]] == ["host:h001"]
        service.site.advice.take(incident("host:h001"))
        affinity = (await operator.get(WHERE, params={"format": "k8s"})).json()
        assert '"values":["h001"]' in msgspec.json.encode(affinity).decode()
        slurm = await operator.get(WHERE, params={"format": "slurm"})
        assert slurm.headers["content-type"].startswith("text/plain")
        assert slurm.text.startswith("scontrol update NodeName=h001 State=DRAIN Reason=")
        assert (await operator.get(WHERE, params={"format": "yaml"})).status_code == 422


async def test_agents_do_not_read_it() -> None:
    service = service_with(incident("host:h001"))
    async with service.agent("h001") as agent:
        assert (await agent.get(WHERE)).status_code == 403


async def test_metrics_count_hosts_and_incidents_that_list_none() -> None:
    service = service_with(incident("host:h001"), incident("host:h002", confidence=0.2))
    samples = {(each.metric.name, each.labels): each.value for each in service.site.samples()}
    assert samples["skh_controller_blacklisted_hosts", ("f1",)] == 1
    assert samples["skh_controller_not_blacklisted_incidents", ("uncertain",)] == 1
