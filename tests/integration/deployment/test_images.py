"""The roots of the images, filled without an engine: their sizes, and that they work alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: Unpacked, with the base [B].
LIMITS = {"agent": 80e6, "server": 700e6}

pytestmark = [pytest.mark.slow, pytest.mark.heavy]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, int]]]:
    """The folder of the roots, and the sizes that ``make image-sizes`` prints."""
    for needed in ("apt-get", "dpkg-deb", "cc"):
        if shutil.which(needed) is None:
            pytest.skip(f"needs {needed}")
    folder = tmp_path_factory.mktemp("images")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "image_sizes.py", folder, "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode and re.search(r"Failed to fetch|error sending|dns error", done.stderr):
        pytest.skip("packages cannot be downloaded here")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with nothing of this environment but the path."""
    return subprocess.run(
        command, env={"PATH": os.environ["PATH"], **environment}, capture_output=True, text=True,
        check=False, timeout=600, cwd="/",
    )  # fmt: skip


@pytest.mark.timeout(1800)
def test_images_are_small(images: tuple[Path, dict[str, dict[str, int]]]) -> None:
    for role, limit in LIMITS.items():
        assert sum(images[1][role].values()) < limit, images[1]


@pytest.mark.timeout(1800)
def test_the_agent_starts_from_its_folder_alone(
    images: tuple[Path, dict[str, dict[str, int]]],
) -> None:
    library = images[0] / "agent" / "lib"
    python = Path(sys.base_prefix) / "bin" / "python3"
    for arguments in (["-m", "probers.agent", "--help"], ["-c", "import skeletonhunter_native"]):
        done = run(python, "-S", *arguments, PYTHONPATH=str(library))
        assert (done.returncode, done.stderr) == (0, "")
    for package in ("streams", "api", "numpy", "pyarrow"):
        assert not (library / package).exists()


@pytest.mark.timeout(1800)
def test_the_server_has_what_its_parts_import_and_says_what_it_has_not(
    images: tuple[Path, dict[str, dict[str, int]]], tmp_path: Path
) -> None:
    programs = images[0] / "server" / ".venv" / "bin"
    parts = (
        "skeletonhunter.services.stream, skeletonhunter.services.sink, "
        "skeletonhunter.services.api, "
        "skeletonhunter.services.notifier, skeletonhunter.services.controller.command, kubernetes, "
        "skeletonhunter.services.controller.pods, pyarrow.parquet, pyarrow.dataset, scipy.stats, "
        "statsmodels.api"
    )
    done = run(programs / "python", "-c", f"import {parts}")
    assert done.returncode == 0, done.stderr
    done = run(programs / "skeletonhunter", "config", "check")
    assert (done.returncode, done.stderr) == (0, "")
    done = run(
        programs / "skeletonhunter", "migrate", "plan", SKH_CLICKHOUSE_URL=f"chdb:{tmp_path}"
    )
    assert done.returncode in (2, 3), done
    assert done.stderr.count("\n") == 1, (
        "the embedded database is not in the image, and a line says so"
    )


@pytest.mark.parametrize(("role", "absent"), [("agent", "numpy"), ("server", "chdb-core")])
def test_a_bill_of_materials_has_what_the_lock_pins_for_an_image(
    role: str, absent: str, tmp_path: Path
) -> None:
    subprocess.run([ROOT / "scripts" / "sbom.sh", tmp_path], check=True, capture_output=True)
    document = json.loads((tmp_path / f"sbom-{role}.json").read_text())
    assert document["bomFormat"] == "CycloneDX"
    found = {each["name"]: each["version"] for each in document["components"]}
    assert {"confluent-kafka", "msgspec", "nanoarrow"} <= found.keys()
    assert absent not in found
    assert all(each["purl"].startswith("pkg:pypi/") for each in document["components"])
