"""The demo's callers of the controller, and the throughput of its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.controller.controller_service import Service

from api.serving import ThreadServer, listen
from controller.service.http.app import create_app
from controller.skeleton.inference import infer
from controller.skeleton.series import Throughput
from schemas import topics
from schemas.documents.placement import Placement
from skeletonhunter.embedded.rounds import full_mesh
from skeletonhunter.embedded.simulated_site import SimulatedSite
from skeletonhunter.embedded.start_up import JobTraffic
from streams.readers.throughput_rows import decode
from testbed.scenarios.scenario import load

START_NS = 1_800_000_000 * 10**9
SIMULATION = load("small").simulation(seed=3, start_ns=START_NS)
BOXES = SIMULATION.placements(0)


@pytest.fixture
def site() -> Iterator[tuple[SimulatedSite, Service]]:
    """The callers, and the service that they call over HTTP."""
    callers, service = SimulatedSite(SIMULATION.topology), Service(SIMULATION.topology)
    service.now_ms = START_NS // 1_000_000
    tokens = callers.tokens()
    listener, _ = listen("127.0.0.1", 0)
    server = ThreadServer(create_app(service.site, lambda: tokens), listener)
    server.start()
    callers.url = server.url
    yield callers, service
    server.close()


def overlay(lists: list[Any]) -> set[tuple[str, str]]:
    return {
        (target.src_ip, target.ip)
        for each in lists
        for target in each.targets
        if target.layer == "overlay"
    }


def test_hosts_that_register_get_the_lists_of_their_jobs(
    site: tuple[SimulatedSite, Service],
) -> None:
    callers, service = site
    callers.submit(BOXES, service.now_ms)
    fabric = SIMULATION.topology.fabric
    phases = service.site.state.phases(fabric)
    assert {each.phase for each in phases.values()} == {"preload"}
    for each in BOXES:
        callers.register(each.node_sn, [each.node_id])
    phases = service.site.state.phases(fabric)
    probed = overlay(callers.lists())
    assert len(probed) == 2 * sum(each.active for each in phases.values()) > 0
    assert len(probed) <= full_mesh(SIMULATION.topology.containers)


def test_a_container_that_drains_is_in_no_list_any_more(
    site: tuple[SimulatedSite, Service],
) -> None:
    callers, service = site
    callers.submit(BOXES, service.now_ms)
    for each in BOXES:
        callers.register(each.node_sn, [each.node_id])
    leaving: Placement = msgspec.structs.replace(
        BOXES[0], state="draining", valid_from="2027-06-01T00:00:00.000Z"
    )
    own = {end.ip for end in leaving.endpoints}
    assert any(own & set(pair) for pair in overlay(callers.lists()))
    callers.change([leaving])
    assert not any(own & set(pair) for pair in overlay(callers.lists()))


def test_the_throughput_of_a_job_is_that_of_a_pipeline_with_replicas() -> None:
    simulation = load("demo").simulation(seed=1, start_ns=START_NS)
    made = JobTraffic(simulation, -300)
    assert made.before_start
    names = {host.node_sn: [r.real_ip for r in host.rnics] for host in simulation.topology.hosts}
    sent: dict[str, Any] = {}
    for node_sn, message in made.messages(-300, -50):
        rows = decode(message, topics.ARROW)
        assert set(rows.node_sn) == {node_sn}
        assert rows.time.min() == START_NS - 300 * 10**9
        for ip in names[node_sn]:
            at = np.array([each == ip for each in rows.real_ip])
            sent[ip] = (rows.tx_bytes[at], rows.rx_bytes[at])
    job = simulation.topology.containers[0].job
    members = [box for box in simulation.topology.containers if box.job == job]
    ips = [end.real_ip for box in members for end in box.endpoints]
    tx, rx = (np.array([sent[ip][way] for ip in ips], np.float32) for way in (0, 1))
    rails = len(members[0].endpoints)
    host, rail = np.divmod(np.arange(len(ips)), rails)
    found = infer(Throughput(tx, rx, host, rail))
    assert not found.declined
    assert (found.stages, found.dp) == (8, 2)


def test_jobs_that_come_and_go_have_no_traffic_before_the_scenario_begins() -> None:
    assert not JobTraffic(load("churn").simulation(seed=1, start_ns=START_NS), -300).before_start
