"""What cannot be run here is at least held against what it talks about."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from skeletonhunter.cli import build
from skeletonhunter.services.health import PORTS
from skeletonhunter.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    found: dict[str, Any] = document["services"]
    return found


def test_compose_sets_only_settings_that_exist(services: dict[str, Any]) -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    used = {
        name
        for service in services.values()
        for name in service.get("environment", {})
        if name.startswith(PREFIX)
    }
    assert {"SKH_KAFKA", "SKH_CLICKHOUSE_URL"} <= used <= known


def test_compose_hands_the_key_ring_to_what_reads_agents_and_to_nothing_else(
    services: dict[str, Any],
) -> None:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert set(document["secrets"]) == {"sender-keys"}
    for name, service in services.items():
        reads = name in ("worker", "sink")
        assert service.get("secrets", []) == (["sender-keys"] if reads else [])
        assert ("SKH_SENDER_KEYS" in service.get("environment", {})) == reads
    assert services["worker"]["environment"]["SKH_SENDER_KEYS"] == "/run/secrets/sender-keys"
    ignored = (ROOT / ".gitignore").read_text().split() + (
        ROOT / ".dockerignore"
    ).read_text().split()
    assert ignored.count("sender-keys") == 2, "a ring in this directory is neither sent nor kept"


def test_compose_runs_commands_that_exist(services: dict[str, Any]) -> None:
    app = build()
    names = {c.name or c.callback.__name__ for c in app.registered_commands if c.callback}
    names |= {group.name for group in app.registered_groups if isinstance(group.name, str)}
    ours = {s["command"][0] for s in services.values() if s.get("image", "").startswith("skel")}
    assert ours == {"topics", "migrate", "stream", "sink", "api"} <= names


def test_compose_pins_images_and_publishes_on_loopback_only(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert re.search(r":\d+\.\d+\.\d+", service["image"]), f"{name}: pin the image"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name}: {port} is open to the network"


def test_compose_waits_for_what_each_part_needs(services: dict[str, Any]) -> None:
    for name, needs in (
        ("worker", ["topics"]), ("sink", ["topics", "migrate"]), ("api", ["migrate"]),
    ):  # fmt: skip
        conditions = {k: v["condition"] for k, v in services[name]["depends_on"].items()}
        assert conditions == dict.fromkeys(needs, "service_completed_successfully")
    assert {name for name, s in services.items() if "healthcheck" in s} == {
        "kafka", "clickhouse", "worker", "sink", "api",
    }  # fmt: skip


def test_compose_asks_each_part_where_it_serves_its_health(services: dict[str, Any]) -> None:
    for name, part in (("worker", "stream"), ("sink", "sink"), ("api", "api")):
        probe = services[name]["healthcheck"]["test"][-1]
        assert f"http://127.0.0.1:{PORTS[part]}/readyz" in probe
        compile(probe, name, "exec")


def test_the_image_copies_every_package_and_does_not_run_as_root() -> None:
    text = (ROOT / "Dockerfile").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert f"COPY {package} {package}" in text
    assert re.search(r"^USER 10001$", text, re.M)


def test_the_uv_that_fills_the_environment_is_the_one_in_the_lock() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    (uv,) = (package for package in lock["package"] if package["name"] == "uv")
    pinned = (ROOT / "scripts" / "requirements-uv.txt").read_text()
    assert f"uv=={uv['version']} " in pinned
    assert set(re.findall(r"--hash=(\S+)", pinned)) == {wheel["hash"] for wheel in uv["wheels"]}


@pytest.mark.parametrize("script", sorted((ROOT / "scripts").glob("*.sh")), ids=lambda p: p.name)
def test_scripts_are_posix_shell_and_executable(script: Path) -> None:
    assert script.stat().st_mode & 0o111
    subprocess.run(["sh", "-n", str(script)], check=True)
