"""stream, sink and api: the settings that they need, and dependencies that do not answer."""

from __future__ import annotations

import pytest
from builders.command_line import Command


@pytest.mark.parametrize(
    ("part", "lacks"),
    [
        ("stream", "SKH_KAFKA must be set for this command, as in SKH_KAFKA=kafka:9092\n"),
        ("sink", "SKH_KAFKA and SKH_CLICKHOUSE_URL must be set for this command, as in SKH_KAFKA="),
        ("api", "SKH_CLICKHOUSE_URL must be set for this command, as in SKH_CLICKHOUSE_URL=http"),
    ],
)
def test_a_part_names_all_settings_that_it_lacks(command: Command, part: str, lacks: str) -> None:
    done = command(part)
    assert done.code == 2
    assert f": {lacks}" in done.error_line


def test_a_part_does_not_name_a_setting_that_it_has(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKH_KAFKA", "127.0.0.1:1")
    done = command("sink")
    assert done.code == 2
    assert "SKH_KAFKA " not in done.error_line


@pytest.mark.parametrize("arguments", [["stream"], ["sink"], ["topics", "--create"]], ids=" ".join)
def test_a_broker_that_does_not_answer_is_code_3(
    command: Command, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("SKH_KAFKA", "127.0.0.1:1")
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", "chdb:/nonexistent")
    done = command(*arguments)
    assert done.code == 3
    assert "127.0.0.1:1" in done.error_line


@pytest.mark.parametrize("arguments", [["api"], ["migrate", "plan"]], ids=" ".join)
def test_a_database_that_does_not_answer_is_code_3_and_its_password_is_not_shown(
    command: Command, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", "http://me:secret@127.0.0.1:1/default")
    done = command(*arguments)
    assert done.code == 3
    assert "127.0.0.1:1" in done.error_line
    assert "secret" not in done.err


@pytest.mark.parametrize("part", ["stream", "sink"])
def test_a_part_that_needs_sender_keys_says_so_before_it_connects(
    command: Command, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setenv("SKH_KAFKA", "192.0.2.1:9092")
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", "chdb:/nonexistent")
    done = command(part)
    assert done.code == 2
    assert "SKH_SENDER_KEYS" in done.error_line
