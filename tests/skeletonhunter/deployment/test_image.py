"""The image and the scripts, held against what they talk about."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_the_images_copy_every_package_and_do_not_run_as_root() -> None:
    text = (ROOT / "Dockerfile").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert f"COPY {package} {package}" in text
    stages = text.split("\nFROM ")
    for name, user in (("agent", "65532"), ("server", "10001:10001")):
        (stage,) = (each for each in stages if each.partition("\n")[0].endswith(f" AS {name}"))
        assert f"\nUSER {user}\n" in stage
        assert f"COPY --from={name}-root /app /app" in stage
        assert "org.opencontainers.image.licenses" in stage
        assert not re.search(r"^(ENTRYPOINT|CMD) [^\[]", stage, re.M), "no shell is needed"


def test_versions_agree() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    native = tomllib.loads((ROOT / "native" / "pyproject.toml").read_text())
    assert native["project"]["version"] == version
    labels = re.findall(r'image\.version="([^"]*)"', (ROOT / "Dockerfile").read_text())
    assert labels == [version, version]
    images = re.findall(r"skeletonhunter/server:(\S+)", (ROOT / "docker-compose.yml").read_text())
    assert set(images) == {version}
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()


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
