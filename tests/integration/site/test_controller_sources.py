"""The controller as a process: pods of an API server and jobs on the topics are in its lists."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import httpx
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import OPERATOR, tokens_of
from builders.controller.kubernetes_http import Cluster, serving
from builders.controller.pods import raw_pod
from builders.controller.task_events import HOSTS

from schemas import topics
from skeletonhunter.commands.inventory.topic_documents import Keyed, publish

from ..conftest import Broker, Command

LONG_S = 300.0
TOPOLOGY = two_tiers(HOSTS)


def written(path: Path, text: str) -> Path:
    """A file that only its owner may read."""
    path.touch(mode=0o600)
    path.write_text(text)
    return path


def test_pods_and_jobs_of_files_reach_a_running_controller(
    embedded: Broker, run: Callable[..., Command], tmp_path: Path
) -> None:
    publish({"bootstrap.servers": embedded.bootstrap}, topics.TOPOLOGY, [Keyed("f1", TOPOLOGY)])
    tokens = written(tmp_path / "tokens", tokens_of([]))
    cluster = Cluster()
    cluster.pages = [{"metadata": {"resourceVersion": "9"}, "items": [raw_pod(0, 0)]}]
    cluster.lines = [{"type": "ADDED", "object": raw_pod(1, 1)}]
    with serving(cluster, tmp_path) as kubeconfig:
        controller = run(
            "controller", "--port", "0", SKH_KAFKA=embedded.bootstrap, SKH_HEALTH_PORT="-1",
            SKH_CONTROLLER_TOKENS=str(tokens), KUBECONFIG=str(kubeconfig),
            SKH_CONTROLLER_KUBERNETES="train", SKH_CONTROLLER_KUBERNETES_FABRIC="f1",
        )  # fmt: skip

        def url() -> str:
            found = re.search(r"controller (http://\S+/)", controller.log.read_text())
            return found[1] if found else ""

        controller.wait_for(lambda: bool(url()), "it listens", LONG_S)
        with httpx.Client(
            base_url=url(), headers={"Authorization": f"Bearer {OPERATOR}"}, timeout=LONG_S
        ) as operator:

            def containers(job: str) -> dict[str, str]:
                answer = operator.get(f"/api/v1/jobs/{job}")
                known = answer.json()["containers"] if answer.status_code == 200 else []
                return {each["node_id"]: each["state"] for each in known}

            pods = {"train/p0.00000000": "starting", "train/p1.00000001": "starting"}
            controller.wait_for(
                lambda: containers("train/job-a") == pods, "both pods are placed", LONG_S
            )
            file = tmp_path / "jobs.yaml"
            file.write_text("job: by-file\nfabric: f1\nhosts: ['h[002-003]']\n")
            applied = run(
                "jobs", "apply", "--kafka", str(file), SKH_KAFKA=embedded.bootstrap
            )  # fmt: skip
            assert applied.process.wait(LONG_S) == 0, applied.log.read_text()
            ready = {"by-file@h002": "ready", "by-file@h003": "ready"}
            controller.wait_for(
                lambda: containers("by-file") == ready, "the job on the topics is known", LONG_S
            )
        assert controller.stop() == 0, controller.log.read_text()
