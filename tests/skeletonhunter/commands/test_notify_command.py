"""``notify``: what it needs, ``check``, and a test notification of each kind of channel."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders.command_line import Command
from builders.notifier.receiver import Answer, Receiver, certificate, receiving

ROOT = Path(__file__).parents[3]
URL = "https://hooks.slack.com/services/T/B/SECRET"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def write(folder: Path, **channel: Any) -> Path:
    """A file with one channel, ``ops``, that may ask loopback."""
    path = folder / "notify.yaml"
    content = {
        "channels": {"ops": {"allow_http": True, "allow_private": True, **channel}},
        "routes": [{"to": ["ops"]}],
        "page_url": "https://skh.example",
    }
    path.write_text(yaml.safe_dump(content))
    return path


def test_notify_names_what_it_lacks(command: Command, tmp_path: Path) -> None:
    done = command("notify")
    assert done.code == 2
    assert "SKH_NOTIFY" in done.error_line
    done = command("notify", "--config", write(tmp_path, kind="webhook", url="https://h/"))
    assert done.code == 2
    assert "SKH_KAFKA must be set" in done.error_line


def test_a_file_that_is_right_is_described(command: Command, tmp_path: Path) -> None:
    done = command("notify", "check", write(tmp_path, kind="webhook", url="https://h/"))
    assert done.code == 0
    assert "channels: 1, routes: 1, without a watchdog" in done.out


def test_a_file_with_mistakes_is_one_line_for_each(command: Command, tmp_path: Path) -> None:
    file = write(tmp_path, kind="slack", url=URL, quue=3)
    done = command("notify", "check", file)
    assert done.code == 2
    assert done.err.splitlines() == [
        f"{file}: channels.ops.quue: is not known; did you mean queue?",
        f"{file}: channels.ops.url: is a secret: write env:NAME or file:PATH, not the value itself",
    ]
    done = command("notify", "--config", file, "--test", "ops")
    assert done.code == 2
    assert "2 mistakes, the first: channels.ops.quue" in done.error_line
    assert "SECRET" not in done.error_line


def test_a_test_notification_arrives_and_says_that_it_is_one(
    command: Command, tmp_path: Path, receiver: Receiver
) -> None:
    file = write(tmp_path, kind="webhook", url=receiver.url)
    done = command("notify", "--config", file, "--page-url", "https://other", "--test", "ops")
    assert done.code == 0, done.err
    (found,) = receiver.received
    assert found.json["incident"]["evidence"]["text"].startswith("This is a test")
    assert found.json["page"].startswith("https://other/incidents/test-")


def test_a_slack_channel_is_tested_over_tls_with_its_address_from_a_file(
    command: Command, tmp_path: Path
) -> None:
    tls, trusted = certificate(tmp_path)
    with receiving(tls) as receiver:
        secret = tmp_path / "url"
        secret.write_text(f"https://localhost:{receiver.port}/services/T/B/SECRET\n")
        secret.chmod(0o600)
        file = write(tmp_path, kind="slack", url=f"file:{secret}", ca_file=str(trusted))
        done = command("notify", "--config", file, "--test", "ops")
        assert done.code == 0, done.err
        assert receiver.received[0].path == "/services/T/B/SECRET"
        assert "tor:test loses packets" in receiver.received[0].json["text"]
        assert "SECRET" not in done.out + done.err


@pytest.mark.parametrize("kind", ["pagerduty", "alertmanager"])
def test_a_test_leaves_no_alert_open(
    command: Command, tmp_path: Path, receiver: Receiver, kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("ROUTING", "key")
    more = {"routing_key": "env:ROUTING"} if kind == "pagerduty" else {}
    file = write(tmp_path, kind=kind, url=receiver.url, **more)
    assert command("notify", "--config", file, "--test", "ops").code == 0
    assert len(receiver.received) == 2
    if kind == "pagerduty":
        actions = [each.json["event_action"] for each in receiver.received]
        assert actions == ["trigger", "resolve"]
        assert receiver.received[0].json["routing_key"] == "key"
    else:
        first, last = (each.json[0] for each in receiver.received)
        assert first["labels"] == last["labels"]
        assert last["endsAt"] < first["endsAt"]


def test_a_receiver_that_takes_no_test_is_code_3_with_the_reason(
    command: Command, tmp_path: Path, receiver: Receiver
) -> None:
    receiver.answer = lambda _: Answer(403)
    file = write(tmp_path, kind="webhook", url=receiver.url)
    done = command("notify", "--config", file, "--test", "ops")
    assert done.code == 3
    assert "channel ops: HTTP 403" in done.error_line


def test_a_private_address_without_permission_is_code_3_with_the_remedy(
    command: Command, tmp_path: Path, receiver: Receiver
) -> None:
    file = write(tmp_path, kind="webhook", url=receiver.url, allow_private=False)
    done = command("notify", "--config", file, "--test", "ops")
    assert done.code == 3
    assert "allow_private: true" in done.error_line
    assert receiver.received == []


def test_a_channel_that_is_not_there_is_named_with_those_that_are(
    command: Command, tmp_path: Path
) -> None:
    file = write(tmp_path, kind="webhook", url="https://h/")
    done = command("notify", "--config", file, "--test", "opps")
    assert done.code == 2
    assert "no channel 'opps'; there are ops" in done.error_line


def test_the_examples_of_the_docs_are_right(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", URL)
    page = (ROOT / "docs/notify.md").read_text()
    examples = re.findall(r"^ *```yaml\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for text in map(textwrap.dedent, examples):
        for path in re.findall(r"file:(/[\w./-]+)", text):
            secret = tmp_path / Path(path).name
            secret.write_text("https://hc-ping.example/key\n")
            secret.chmod(0o600)
            text = text.replace(f"file:{path}", f"file:{secret}")
        (tmp_path / "notify.yaml").write_text(text)
        done = command("notify", "check", tmp_path / "notify.yaml")
        assert done.code == 0, done.err
