"""docker-compose.yml, held against the settings, commands and ports that it names.

tests/integration/deployment executes its services; Docker Compose itself, and the start of the
images of others, are not tried.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders.monitoring.prometheus_tools import tool

from skeletonhunter.cli import build
from skeletonhunter.services.health import PORTS
from skeletonhunter.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
PARTS = {
    "worker": "stream", "sink": "sink", "api": "api", "controller": "controller",
    "notify": "notify",
}  # fmt: skip
ONE_SHOTS = {"init", "topics", "migrate"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The file with its anchors resolved and the defaults of its variables."""
    found: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", TEXT))
    return found


@pytest.fixture(scope="module")
def services(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["services"]
    return found


def ours(services: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in services.items() if v["image"].startswith("skeletonhunter/")}


def test_the_library_of_docker_compose_loads_the_file() -> None:
    where = subprocess.run(
        [ROOT / "scripts" / "compose-tools.sh", "--where"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if shutil.which(where) is None:
        pytest.skip("needs compose-check (scripts/compose-tools.sh builds it with Go)")
    done = subprocess.run([where, ROOT / "docker-compose.yml"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_services_have_only_settings_that_exist(services: dict[str, Any]) -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    for name, service in ours(services).items():
        used = {each for each in service.get("environment", {}) if each.startswith(PREFIX)}
        assert used <= known, name
    assert "SKH_API_WITHOUT_TOKENS" not in TEXT


def test_each_part_has_the_settings_that_it_reads_and_no_others(services: dict[str, Any]) -> None:
    for service, part in PARTS.items():
        for name in services[service]["environment"]:
            extra = Settings.model_fields[name.removeprefix(PREFIX).lower()].json_schema_extra
            assert isinstance(extra, dict)
            assert part in extra["read_by"], f"{service} does not read {name}"  # type: ignore[operator]


def test_commands_exist(services: dict[str, Any]) -> None:
    app = build()
    names = {c.name or c.callback.__name__ for c in app.registered_commands if c.callback}
    names |= {group.name for group in app.registered_groups if isinstance(group.name, str)}
    commands = {s["command"][0] for s in ours(services).values() if "command" in s}
    assert commands <= names
    assert commands == {
        "compose-secrets", "topics", "migrate", "stream", "sink", "api", "controller", "notify",
    }  # fmt: skip


def test_images_have_versions_and_nothing_is_published_beyond_loopback(
    services: dict[str, Any],
) -> None:
    for name, service in services.items():
        assert re.search(r":v?\d+\.\d+\.\d+", service["image"]), f"{name}: pin the image"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name}: {port} is open to the network"


def test_every_container_is_hardened_and_bounded(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name
        assert service["pids_limit"], name
        if name != "init":
            assert "cap_add" not in service, name
            assert service.get("user") != "0:0", name
    assert services["init"]["network_mode"] == "none", "root, and therefore without a network"


def test_every_service_that_stays_has_a_health_check(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert ("healthcheck" in service) == (name not in ONE_SHOTS | {"keys"}), name
    for name, part in PARTS.items():
        assert services[name]["healthcheck"]["test"] == [
            "CMD", "python", "-m", "probers.health.ready", str(PORTS[part]),
        ]  # fmt: skip


def test_wait_ends_because_a_service_waits_for_the_end_of_each_one_shot(
    services: dict[str, Any],
) -> None:
    """`up --wait` takes a container that ended for a failure, unless one depends on its end."""
    awaited = {
        on
        for service in services.values()
        for on, how in service.get("depends_on", {}).items()
        if how["condition"] == "service_completed_successfully"
    }
    assert awaited == ONE_SHOTS


def test_a_container_mounts_its_own_secrets_only(services: dict[str, Any]) -> None:
    for name, service in services.items():
        mounted = {each.partition(":")[0] for each in service.get("volumes", [])}
        secret = {each for each in mounted if "secrets" in each or each == "master"}
        if name == "init":
            assert len(secret) == 5
        else:
            own = "secrets" if name in ours(services) else f"{name}-secrets"
            assert secret <= {own}, name
    assert not re.search(r"(?i)password: *[^$ ]", TEXT.replace("PASSWORD__FILE", "")), "no default"


def test_prometheus_asks_every_part_and_alertmanager_has_the_rules_of_the_other_one() -> None:
    """The files of compose/ say what those of prometheus/ and grafana/ say."""
    compose, shipped = (
        yaml.safe_load((ROOT / folder / "prometheus.yml").read_text())
        for folder in ("compose", "prometheus")
    )
    found = {
        each["names"][0]: each["port"] for each in compose["scrape_configs"][0]["dns_sd_configs"]
    }
    assert found == {s: PORTS[p] for s, p in PARTS.items() if s != "notify"}
    assert compose["global"] == shipped["global"]
    managers = [
        yaml.safe_load((ROOT / folder / "alertmanager.yml").read_text())
        for folder in ("compose", "prometheus")
    ]
    for key in ("route", "inhibit_rules"):
        assert managers[0][key] == managers[1][key]
    sources = [
        yaml.safe_load((ROOT / path).read_text())["datasources"]
        for path in (
            "compose/grafana-datasources.yml",
            "grafana/provisioning/datasources/skeletonhunter.yml",
        )
    ]  # fmt: skip
    assert [s["uid"] for s in sources[0]] == [s["uid"] for s in sources[1]]


def test_promtool_and_amtool_accept_the_files(tmp_path: Path) -> None:
    for source in ("compose/prometheus.yml", "prometheus/alerts.yml", "compose/alertmanager.yml"):
        shutil.copy(ROOT / source, tmp_path)
    for command in (
        [tool("promtool"), "check", "config", tmp_path / "prometheus.yml"],
        [tool("amtool"), "check-config", tmp_path / "alertmanager.yml"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_that_is_mounted_exists(services: dict[str, Any]) -> None:
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            if source.startswith("."):
                assert (ROOT / source).exists(), source
