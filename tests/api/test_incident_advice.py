"""Where an incident's component is, and what to check and do."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import msgspec
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.schemas.incidents import INCIDENT, NIC, PIPELINE

from api.runbook.steps import keys, next_steps, table
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of
from testbed.faults.issue_types import PUBLISHED

NOON = int(seconds_of(INCIDENT.opened_at))
PutWindows = Callable[..., None]
TYPED = msgspec.structs.replace(NIC, fabric="f1", issue_type="rnic_port_down")


def advice(client: httpx.Client, incident: Incident) -> dict[str, dict[str, list[str]]]:
    response = client.get(f"/api/v1/incidents/{incident.incident_id}/advice")
    assert response.status_code == 200
    return dict(response.json())


def test_the_place_of_an_rnic_is_its_host_tor_pod_and_containers(
    client: httpx.Client, put: Put, put_windows: PutWindows
) -> None:
    put(TYPED)
    put_windows(
        window(NOON, 1), window(NOON, 3, src_node_id="h1"),  # of the underlay
        window(NOON, 2, src_real_ip="10.9.9.9", src_node_sn="h9"),
    )  # fmt: skip
    assert advice(client, TYPED)["place"] == {
        "hosts": ["h1"], "rnics": ["10.0.0.1"], "tors": ["t1"], "pods": ["p1"],
        "containers": ["c1"],
        "counts": {"host": 1, "rnic": 1, "tor": 1, "pod": 1, "container": 1},
    }  # fmt: skip


def test_a_tor_has_the_hosts_below_it_as_source_or_destination(
    client: httpx.Client, put: Put, put_windows: PutWindows
) -> None:
    below = msgspec.structs.replace(INCIDENT, component="tor:t2", tie_set=["tor:t2"])
    put(below)
    put_windows(
        window(NOON, 1), window(NOON, 2, src_asw="t2", src_node_sn="h3"),
        window(NOON + 7200, 3, dst_node_sn="much later"),
    )  # fmt: skip
    place = advice(client, below)["place"]
    assert place["hosts"] == ["h2", "h3"]
    assert place["tors"] == ["t2"]


def test_a_spine_has_no_endpoints_and_a_link_has_those_of_its_rnic(
    client: httpx.Client, put: Put, put_windows: PutWindows
) -> None:
    spine = msgspec.structs.replace(INCIDENT, component="spine:d1", kind="spine")
    link = msgspec.structs.replace(
        NIC, component="link:rnic:10.0.0.1|tor:t1", kind="link", fabric="f1"
    )
    put(spine, link)
    put_windows(window(NOON, 1))
    assert advice(client, spine)["place"]["counts"] == {}
    assert advice(client, link)["place"]["hosts"] == ["h1"]
    assert advice(client, link)["place"]["tors"] == ["t1"]


def test_commands_name_the_host_and_the_rnic(
    client: httpx.Client, put: Put, put_windows: PutWindows
) -> None:
    put(TYPED)
    put_windows(window(NOON, 1))
    (entry,) = advice(client, TYPED)["next_steps"]
    commands = [step["run"] for step in entry["steps"] if step["run"]]
    assert entry["for"] == "rnic_port_down"
    assert any("a=10.0.0.1" in each for each in commands)
    assert any("nodename=h1 " in each for each in commands)


def test_an_unknown_incident_has_no_advice(client: httpx.Client) -> None:
    assert client.get("/api/v1/incidents/none/advice").status_code == 404


def test_the_runbook_of_the_docs_is_written_from_the_table() -> None:
    script = Path(__file__).parents[2] / "scripts/runbook.py"
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


# --- the table, without a store ----------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({*PUBLISHED} - {"gpu_direct_rdma_error"}))
def test_every_published_issue_type_that_probes_show_has_steps(name: str) -> None:
    assert name in table()


SYMPTOMS = (
    "agent_down", "agent_starved", "clock_skewed", "high_latency", "host_down", "judging_failed",
    "loss", "unconnectivity",
)  # fmt: skip


@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_every_symptom_has_steps_where_the_type_is_undecided(symptom: str) -> None:
    assert keys(msgspec.structs.replace(INCIDENT, issue_type=None, symptom=symptom))


def test_undecided_types_are_advised_on_in_the_order_of_their_probabilities() -> None:
    types = {"rnic_port_down": 0.3, "bond_error": 0.4, "rnic_gid_change": 0.05}
    incident = msgspec.structs.replace(NIC, issue_type=None, evidence={"issue_types": types})
    assert keys(incident) == ["bond_error", "rnic_port_down"]


def test_none_of_the_types_has_the_steps_of_its_kind_and_symptom() -> None:
    types = {"none of the catalogue": 0.6, "switch_offline": 0.4}
    incident = msgspec.structs.replace(
        INCIDENT, issue_type=None, symptom="loss", evidence={"issue_types": types}
    )
    assert keys(incident) == ["tor/loss", "switch_offline"]


def test_a_pipeline_incident_concerns_no_component() -> None:
    (entry,) = next_steps(PIPELINE, {})
    assert "no component of the network" in entry.means


@pytest.mark.parametrize("key", list(table()))
def test_commands_are_filled_in_and_valid_shell(key: str) -> None:
    incident = msgspec.structs.replace(INCIDENT, issue_type=key)
    if key in SYMPTOMS or "/" in key:
        kind, _, symptom = key.rpartition("/")
        incident = msgspec.structs.replace(
            INCIDENT, issue_type=None, kind=kind or "spine", symptom=symptom
        )
    place = {"host": ["h1"], "rnic": ["10.0.0.1"], "tor": ["t1"], "container": ["c1"]}
    entries = {entry.key: entry for entry in next_steps(incident, place)}
    for step in entries[key].steps:
        assert step.do[0].isupper()
        assert step.do.endswith((".", "?"))
        if step.run is not None:
            assert not {"{host}", "{rnic}", "{tor}", "{dev}", "{fabric}"} & {*step.run.split()}
            shell = step.run.replace("<", "").replace(">", "")  # <pci-address> is for people
            checked = subprocess.run(
                ["bash", "-n", "-c", shell], capture_output=True, text=True, check=False
            )
            assert checked.returncode == 0, checked.stderr


def test_a_hostile_name_cannot_run_anything() -> None:
    name = "$(touch /tmp/owned); `id` 'x"
    entries = next_steps(TYPED, {"host": [name], "rnic": [name]})
    for command in (step.run for entry in entries for step in entry.steps if step.run):
        if "nodename" in command:
            assert shlex.split(command)[2] == f"nodename={name}"
        assert shlex.quote(name) in command or "touch" not in command
