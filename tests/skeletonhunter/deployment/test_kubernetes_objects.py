"""Objects for Kubernetes that are generated: those in the tree are the generated ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml
from builders.command_line import Command

ROOT = Path(__file__).parents[3]
STRIMZI = ROOT / "k8s" / "components" / "strimzi"


def test_what_is_generated_is_in_the_tree() -> None:
    script = ROOT / "scripts" / "kubernetes_objects.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_command_prints_topics_and_users_for_strimzi(command: Command) -> None:
    done = command("topics", "--format", "strimzi")
    assert done.code == 0
    files = [
        each
        for name in ("topics.yaml", "users.yaml")
        for each in yaml.safe_load_all((STRIMZI / name).read_text())
    ]
    assert list(yaml.safe_load_all(done.out)) == files


def test_the_command_names_another_cluster(command: Command) -> None:
    done = command("topics", "--format", "strimzi", "--cluster", "events", "--namespace", "q")
    for each in yaml.safe_load_all(done.out):
        assert each["metadata"]["labels"] == {"strimzi.io/cluster": "events"}
        assert each["metadata"]["namespace"] == "q"
