"""Writes the Kubernetes objects of k8s/ that repeat what is said elsewhere.

``--write`` writes them; without it, exits with 1 when a file differs. Sources: the alerts of
prometheus/alerts.yml, the topics of schemas/topics.py, the rights that
``skeletonhunter topics --create --agents`` gives, and for the Helm chart the manifests of k8s/base.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import helm_chart
import yaml

from skeletonhunter.deployment import strimzi

ROOT: Final = Path(__file__).parents[1]
COMPONENTS: Final = ROOT / "k8s" / "components"
_NOTE: Final = "# Written by scripts/kubernetes_objects.py --write, from {source}.\n"
_WIDTH: Final = 100


def main() -> int:
    """Writes or compares; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files")
    files = wanted()
    if parser.parse_args().write:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return 0
    different = [path for path, text in files.items() if not _is(path, text)]
    for path in different:
        print(f"{path.relative_to(ROOT)} differs: run scripts/kubernetes_objects.py --write")
    return 1 if different else 0


def wanted() -> Mapping[Path, str]:
    """Every file, with the text that it should have."""
    return {
        COMPONENTS / "prometheus-operator" / "rules.yaml": _text(
            "prometheus/alerts.yml", [rules()]
        ),
        COMPONENTS / "strimzi" / "topics.yaml": _text(
            "schemas/topics.py", strimzi.topic_objects("kafka", "kafka")
        ),
        COMPONENTS / "strimzi" / "users.yaml": _text(
            "schemas/topics.py", strimzi.user_objects("kafka", "kafka")
        ),
        **helm_chart.files(),
    }


def rules() -> dict[str, Any]:
    """The alerts as a PrometheusRule."""
    groups = yaml.safe_load((ROOT / "prometheus" / "alerts.yml").read_text())["groups"]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "skeletonhunter", "namespace": "skeletonhunter"},
        "spec": {"groups": groups},
    }


def _text(source: str, objects: list[dict[str, Any]]) -> str:
    return _NOTE.format(source=source) + yaml.dump_all(
        objects, Dumper=_WithoutAnchors, sort_keys=False, width=_WIDTH
    )


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


class _WithoutAnchors(yaml.SafeDumper):
    """Writes what is used twice twice."""

    def ignore_aliases(self, data: object) -> bool:
        return True


if __name__ == "__main__":
    sys.exit(main())
