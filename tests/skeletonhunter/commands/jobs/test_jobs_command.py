"""``jobs``: against a controller that listens on loopback, and on the topics of a broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from builders.command_line import Command
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import OPERATOR, Service, serving
from builders.controller.task_events import HOSTS

from schemas import topics
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job
from skeletonhunter.commands.inventory.topic_documents import Keyed, publish
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.readers.operator_feed import OperatorFeed

TOPOLOGY = two_tiers(HOSTS)
JOBS = """\
job: team/train-1
fabric: f1
tenant: team-a
hosts: ["h[000-001]"]
---
- job: train-2
  fabric: f1
  containers:
    - {node_id: c2, node_sn: h002, endpoints: [{ip: 172.16.2.1, real_ip: 10.0.2.1}]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.yaml"
    path.write_text(JOBS)
    return path


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text(f"{OPERATOR}\n")
    return path


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, no_settings: None, token: Path) -> Iterator[Service]:
    """A controller over HTTP, without a broker; the settings name it."""
    made = Service(TOPOLOGY)
    with serving(made) as url:
        monkeypatch.setenv("SKH_CONTROLLER_URL", url)
        monkeypatch.setenv("SKH_CONTROLLER_TOKEN_FILE", str(token))
        yield made


def test_a_file_of_jobs_is_applied_once_and_shown(
    service: Service, command: Command, file: Path
) -> None:
    assert command("jobs", "list").out == "no jobs\n"
    done = command("jobs", "apply", file)
    assert (done.code, done.err) == (0, "")
    assert done.out == "team/train-1: 3 events\ntrain-2: 1 events\n"
    assert command("jobs", "apply", file).out == "team/train-1: unchanged\ntrain-2: unchanged\n"
    listed = command("jobs", "list").out.splitlines()
    assert listed[0] == "team/train-1  f1  team-a  2 ready  activation"
    assert listed[1].startswith("train-2  f1  -  1 starting  preload")
    shown = command("jobs", "show", "team/train-1").out
    assert "h001  team/train-1@h001" in shown
    document = json.loads(command("jobs", "show", "train-2", "--format", "json").out)
    assert document["containers"] == [{"node_id": "c2", "node_sn": "h002", "state": "starting"}]


def test_a_job_is_ended(service: Service, command: Command, file: Path) -> None:
    command("jobs", "apply", file)
    service.now_ms += 1000
    assert "no containers" in command("jobs", "end", "team/train-1").out
    assert "ended" in command("jobs", "list").out
    done = command("jobs", "end", "unknown")
    assert (done.code, done.error_line.count("no job 'unknown' is known")) == (2, 1)


def test_the_queue_of_slurm_is_imported(service: Service, command: Command, file: Path) -> None:
    queue = {"jobs": [{"job_id": 5, "job_state": ["RUNNING"], "nodes": "h[000-003],login1"}]}
    arguments = ("jobs", "import", "--from", "slurm", "--fabric", "f1", "-")
    done = command(*arguments, stdin=json.dumps(queue).encode())
    assert done.out.startswith("1 jobs run, 0 have ended, 0 have no host of fabric f1; ")
    assert "slurm-5  f1  -  4 ready" in command("jobs", "list").out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("job: [", "neither YAML nor JSON: line 1"),
        ("job: j\nsice: 3", "job 1: unknown field 'sice'"),
        ("- job: a\n- job: a", "'a' appears twice"),
        ("", "no job"),
        ("job: 7", "Expected `str`"),
        ("job: j\nfabric: f1\nhosts: [h9]", "host 'h9' is not in the topology"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(
    service: Service, command: Command, file: Path, text: str, says: str
) -> None:
    file.write_text(text)
    done = command("jobs", "apply", file)
    assert done.code == 2
    assert says in done.error_line


def test_a_wrong_token_and_a_silent_controller_are_named_and_no_secret_is_shown(
    service: Service, command: Command, file: Path, token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content, code in (("secret-of-another", 2), ("two lines\nof secret-of-another", 2)):
        token.write_text(content)
        done = command("jobs", "list")
        assert done.code == code
        assert "SKH_CONTROLLER_TOKEN_FILE" in done.error_line
        assert "secret-of" not in done.err
    token.write_text(OPERATOR)
    monkeypatch.setenv("SKH_CONTROLLER_URL", "http://127.0.0.1:9")
    done = command("jobs", "list")
    assert done.code == 3
    assert "does not answer" in done.error_line
    monkeypatch.delenv("SKH_CONTROLLER_TOKEN_FILE")
    assert "SKH_CONTROLLER_TOKEN_FILE must be set" in command("jobs", "list").error_line


def test_jobs_are_applied_and_ended_on_the_topics_where_no_controller_runs(
    monkeypatch: pytest.MonkeyPatch, command: Command, file: Path
) -> None:
    broker = EmbeddedBroker()
    monkeypatch.setenv("SKH_KAFKA", broker.bootstrap)
    options = {"bootstrap.servers": broker.bootstrap}
    publish(options, topics.TOPOLOGY, [Keyed("f1", TOPOLOGY)])
    done = command("jobs", "apply", "--kafka", file)
    assert (done.code, done.err) == (0, "")
    again = command("jobs", "apply", "--kafka", file)
    assert again.out == "team/train-1: unchanged\ntrain-2: unchanged\n"
    assert "team/train-1  f1  team-a  2 ready" in command("jobs", "list", "--kafka").out
    assert "no containers" in command("jobs", "end", "--kafka", "team/train-1").out
    assert "there is: team/train-1" in command("jobs", "show", "--kafka", "x").error_line
    feed = OperatorFeed(options, more={topics.JOBS.name: Job})
    feed.read()
    feed.close()
    newest = {each.node_id: each for each in feed.known if isinstance(each, Placement)}
    assert {name: each.state for name, each in newest.items()} == {
        "team/train-1@h000": "gone", "team/train-1@h001": "gone", "c2": "starting",
    }  # fmt: skip
    assert {claim.source for each in newest.values() for claim in each.claims} == {"file"}
    assert msgspec.json.encode(newest["c2"].endpoints) == (
        b'[{"ip":"172.16.2.1","real_ip":"10.0.2.1"}]'
    )
