"""Where an incident's component is, and what to check and do."""

from __future__ import annotations

import os
import re
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
from builders.monitoring.small_site import put_topology
from builders.schemas.incidents import INCIDENT, NIC, PIPELINE

from api.runbook.steps import keys, next_steps, table
from schemas.component_ids import KINDS, kind_of
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of
from store.client import Store
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
        "containers": ["c1"], "switches": [],
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
    assert advice(client, spine)["place"]["counts"] == {"switch": 1}
    assert advice(client, spine)["place"]["switches"] == ["d1"]
    assert advice(client, link)["place"]["hosts"] == ["h1"]
    assert advice(client, link)["place"]["tors"] == ["t1"]


@pytest.mark.parametrize(
    ("component", "place"),
    [
        ("rnic:10.0.0.1", {"hosts": ["h1"], "tors": ["t1"], "pods": ["p1"]}),
        ("link:rnic:10.0.0.1|tor:t1", {"hosts": ["h1"], "rnics": ["10.0.0.1"]}),
        ("host:h1", {"rnics": ["10.0.0.1"], "tors": ["t1"]}),
        ("tor:t2", {"hosts": ["h2"], "rnics": ["10.0.1.2"], "switches": ["t2"]}),
        ("container:c1", {"hosts": ["h1"], "rnics": ["10.0.0.1"]}),
        ("pod:p2", {"hosts": ["h2"], "tors": ["t2"]}),
        ("link:agg:a1|spine:s1", {"switches": ["a1", "s1"], "hosts": []}),
    ],
)
def test_what_was_not_probed_is_found_in_the_topology(
    client: httpx.Client, store: Store, put: Put, component: str, place: dict[str, list[str]]
) -> None:
    put_topology(store)
    incident = msgspec.structs.replace(
        INCIDENT, component=component, kind=kind_of(component), fabric="f1"
    )
    put(incident)
    found = advice(client, incident)["place"]
    assert {name: found[name] for name in place} == place


def test_the_steps_for_an_unseen_switch_tell_how_it_gets_its_name() -> None:
    unseen = msgspec.structs.replace(INCIDENT, component="spine:?", kind="spine", symptom="loss")
    (entry,) = next_steps(unseen, {})
    assert "topology document" in entry.steps[0].do


def test_a_link_between_switches_has_commands_for_its_two_ports(
    client: httpx.Client, put: Put
) -> None:
    link = msgspec.structs.replace(
        INCIDENT, component="link:agg:a1|tor:t1", kind="link", issue_type="crc_error"
    )
    put(link)
    (entry,) = advice(client, link)["next_steps"]
    commands = [step["run"] for step in entry["steps"] if step["run"]]
    assert commands
    assert all("-v a=a1 -v b=t1" in command for command in commands)


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


def test_a_silent_agent_is_started_again() -> None:
    silent = msgspec.structs.replace(
        INCIDENT, component="agent:h1", kind="agent", symptom="agent_down", evidence={}
    )
    (entry,) = next_steps(silent, {"host": ["h1"]})
    assert [step.do.split(":")[0] for step in entry.steps] == ["On the host", "On the host"]
    assert "systemctl restart skeletonhunter-agent" in str(entry.steps[-1].run)


def test_a_pipeline_incident_concerns_no_component() -> None:
    (entry,) = next_steps(PIPELINE, {})
    assert "no component of the network" in entry.means


COMPONENTS = (
    "host:h1", "rnic:10.0.0.1", "vswitch:h1", "container:c1", "tor:t1", "agg:a1", "spine:s1",
    "agent:h1", "link:rnic:10.0.0.1|tor:t1", "link:agg:a1|tor:t1", "link:agg:a1|spine:s1",
    "pod:p1", "fabric:f1", "pipeline:f1",
)  # fmt: skip
PLACES: dict[str, dict[str, list[str]]] = {
    "one of each": {"host": ["h1"], "rnic": ["10.0.0.1"]},
    "several": {"host": ["h1", "h2"], "rnic": ["10.0.0.1", "10.0.0.2"]},
    "none": {},
}


def about(key: str, component: str) -> Incident:
    """An incident of a component that the entry of a key is about."""
    kind, _, symptom = key.rpartition("/")
    general = key in SYMPTOMS or bool(kind)
    return msgspec.structs.replace(
        INCIDENT, component=component, kind=kind or kind_of(component),
        issue_type=None if general else key, symptom=symptom if general else INCIDENT.symptom,
    )  # fmt: skip


def test_all_kinds_of_components_are_tried() -> None:
    assert {kind_of(each) for each in COMPONENTS} == {*KINDS}


@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize("component", COMPONENTS)
def test_no_command_has_a_name_to_be_filled_in_by_hand(component: str, place: str) -> None:
    for key in table():
        entries = next_steps(about(key, component), PLACES[place])
        for step in (step for entry in entries for step in entry.steps):
            assert step.do[0].isupper()
            assert step.do.endswith((".", "?"))
            if step.run is not None:
                assert not re.search(r"<\w|\{\w+\}", step.run), (key, step.run)


@pytest.mark.parametrize("key", list(table()))
def test_every_component_has_steps_whatever_the_type(key: str) -> None:
    kind = key.rpartition("/")[0]
    for component in COMPONENTS:
        if kind in ("", kind_of(component)):
            for each in next_steps(about(key, component), {}):
                assert len(each.steps) >= min(2, len(table()[each.key].steps)), component


def test_what_is_not_known_is_said_instead_of_a_command() -> None:
    (entry,) = next_steps(TYPED, {"rnic": ["10.0.0.1"]})
    (drain,) = (step for step in entry.steps if step.do.startswith("Drain"))
    assert drain.run is None
    assert drain.do.endswith("Neither records nor the topology tell the host: no command.")


def test_a_command_for_one_of_several_names_says_which_the_others_are() -> None:
    (entry,) = next_steps(TYPED, {"rnic": ["10.0.0.1"], "host": ["h1", "h2", "h3"]})
    (drain,) = (step for step in entry.steps if step.do.startswith("Drain"))
    assert "nodename=h1 " in str(drain.run)
    assert "Shown for h1; the same for each other host of the place: h2, h3." in drain.do


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("key", list(table()))
def test_steps_are_for_the_place_of_the_component(key: str, component: str) -> None:
    commands = [
        step.run for entry in next_steps(about(key, component), PLACES["one of each"])
        for step in entry.steps if step.run
    ]  # fmt: skip
    between = component.startswith("link:agg")
    assert not any("lldpctl" in command for command in commands) or between
    assert not between or not any("kubectl" in each for each in commands) or key in HOSTS_ONLY


#: Entries that are about something on a host, whatever is named.
HOSTS_ONLY = frozenset({
    "rnic_port_flapping", "rnic_port_down", "rnic_hardware_failure", "rnic/unconnectivity",
    "pcie_nic_error", "host_down", "container_crash", "tor/loss",
})  # fmt: skip


@pytest.mark.parametrize("key", list(table()))
def test_a_command_for_one_scheduler_is_there_for_the_other_too(key: str) -> None:
    entries = next_steps(about(key, "host:h1"), PLACES["one of each"])
    for command in (step.run for entry in entries for step in entry.steps if step.run):
        slurm = "scontrol" in command or "squeue" in command
        assert ("kubectl" in command) == slurm, command
        assert not slurm or command.startswith(("scontrol", "squeue")), "Slurm first"


@pytest.mark.parametrize("component", ["link:agg:a1|tor:t1", "rnic:10.0.0.1", "spine:s1"])
def test_commands_are_valid_shell(component: str) -> None:
    commands = {
        step.run
        for key in table() for entry in next_steps(about(key, component), PLACES["several"])
        for step in entry.steps if step.run
    }  # fmt: skip
    for command in commands:
        checked = subprocess.run(
            ["bash", "-n", "-c", command], capture_output=True, text=True, check=False
        )
        assert checked.returncode == 0, (command, checked.stderr)


def test_the_port_of_a_link_is_read_from_the_neighbors_that_lldp_knows(tmp_path: Path) -> None:
    (entry,) = next_steps(about("crc_error", "link:agg:a1|tor:t1"), {})
    find = str(entry.steps[0].run).partition("; ip ")[0]
    shown = "lldp.Ethernet0.chassis.name=h7\nlldp.Ethernet48.chassis.name=a1\n"
    (tmp_path / "lldpctl").write_text(f"#!/bin/sh\nprintf '{shown}'\n")
    (tmp_path / "lldpctl").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "-ec", f'{find}; echo "$PORT"'],
        capture_output=True, text=True, check=True, env={"PATH": path},
    )  # fmt: skip
    assert found.stdout == "Ethernet48\n"


def test_a_hostile_name_cannot_run_anything() -> None:
    name = "$(touch /tmp/owned); `id` 'x"
    entries = next_steps(TYPED, {"host": [name], "rnic": [name]})
    for command in (step.run for entry in entries for step in entry.steps if step.run):
        if "nodename" in command:
            assert shlex.split(command)[2] == f"nodename={name}"
        assert shlex.quote(name) in command or "touch" not in command
