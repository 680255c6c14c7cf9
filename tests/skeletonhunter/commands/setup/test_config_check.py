"""``skeletonhunter config check``: what is in effect, where from, and every mistake at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.command_line import Command

from skeletonhunter import settings


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without settings."""
    for name in (*settings.known(), *settings.AGENT_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def secret(path: Path, text: str = "s3cret\n") -> str:
    path.touch(mode=0o600)
    path.write_text(text)
    return str(path)


def test_every_setting_is_shown_with_where_it_is_from_and_no_secret(
    command: Command, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("SKH_GROUP", "night")
    environment.setenv("SKH_CLICKHOUSE_URL", "http://me:s3cret@db:8123/default")
    environment.setenv("SKH_KAFKA_OPTIONS", '{"sasl.password": "s3cret"}')
    environment.setenv("SKH_API_PORT", "tcp://10.0.0.1:80")
    said = command("config", "check")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert "SKH_GROUP = night (environment)" in lines
    assert "SKH_CLICKHOUSE_URL = *** (environment)" in lines
    assert "SKH_LATENESS_S = 2.0 (default)" in lines
    assert "SKH_API_PORT is ignored: Kubernetes sets it for a Service" in lines
    assert {line.split(" ")[0] for line in lines} >= settings.known().keys()
    assert "s3cret" not in said.out


def test_all_mistakes_are_reported_at_once_a_line_each(
    command: Command, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {
        "SKH_KAFAK": "x", "SKH_API_PORT": "99999", "SKH_LOG_LEVEL": "LOUD",
        "SKH_STRATEGY": "guess", "SKH_API_TOKENS": str(tmp_path / "absent"),
        "SKH_API_NAMES": "page.example.com", "SKH_CLICKHOUSE_URL": "ftp://me:s3cret@host",
        "SKH_KAFKA_PASSWORD_FILE": str(tmp_path / "none"), "SKH_TOPOLOGY": str(tmp_path / "t.json"),
        "SKH_SENDER_KEYS": str(tmp_path / "ring"), "SKH_NOTIFY": str(tmp_path / "notify.yaml"),
        "SKH_CONTROLLER_TOKENS": str(tmp_path / "tokens"),
    }.items():  # fmt: skip
        environment.setenv(name, value)
    said = command("config", "check")
    assert said.code == 2
    mistakes = said.err.splitlines()
    assert all(line.startswith("skeletonhunter: ") for line in mistakes)
    for named in (
        "SKH_KAFAK", "SKH_API_PORT", "SKH_LOG_LEVEL", "SKH_STRATEGY", "SKH_API_TOKENS",
        "SKH_API_NAMES", "SKH_CLICKHOUSE_URL", "SKH_KAFKA_PASSWORD_FILE", "SKH_SENDER_KEYS",
        "SKH_CONTROLLER_TOKENS", "t.json", "notify.yaml",
    ):  # fmt: skip
        assert sum(named in line for line in mistakes) == 1, f"{named} in {mistakes}"
    assert len(mistakes) == 12
    assert "s3cret" not in said.err


def test_a_value_that_cannot_be_used_is_shown_as_invalid(
    command: Command, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("SKH_LATENESS_S", "-1")
    environment.setenv("SKH_API_NAMES", "page.example.com")
    said = command("config", "check")
    assert said.code == 2
    assert "SKH_LATENESS_S = invalid (environment)\n" in said.out
    assert "SKH_API_NAMES = invalid (environment)\n" in said.out


@pytest.mark.parametrize("brokers", ["nocolon", "a:9092,b", ":9092", "a:0", "a:70000", "a:x"])
def test_brokers_without_host_or_port_are_a_mistake(
    command: Command, environment: pytest.MonkeyPatch, brokers: str
) -> None:
    environment.setenv("SKH_KAFKA", brokers)
    said = command("config", "check")
    assert said.code == 2
    assert "is no host:port; write kafka:9092" in said.error_line
    environment.setenv("SKH_KAFKA", "kafka:9092, [::1]:9093,SSL://b.example:9094")
    assert command("config", "check").code == 0


@pytest.mark.parametrize(
    ("part", "needs"),
    [
        ("stream", ["SKH_KAFKA must"]),
        ("sink", ["SKH_KAFKA and SKH_CLICKHOUSE_URL must"]),
        ("api", ["SKH_CLICKHOUSE_URL must"]),
        ("controller", ["SKH_KAFKA must", "SKH_CONTROLLER_TOKENS must"]),
        ("notify", ["SKH_KAFKA must", "SKH_NOTIFY must"]),
        ("migrate", ["SKH_CLICKHOUSE_URL must"]),
    ],
)
def test_a_part_needs_what_it_uses_and_no_more(
    command: Command, environment: pytest.MonkeyPatch, part: str, needs: list[str]
) -> None:
    said = command("config", "check", "--part", part)
    assert said.code == 2
    mistakes = said.err.splitlines()
    assert len(mistakes) == len(needs)
    for line, need in zip(mistakes, needs, strict=True):
        assert line.startswith(f"skeletonhunter: {need}")
    assert ("SKH_STRATEGY" in said.out) == (part == "stream")


def test_up_needs_nothing_and_what_it_reads_is_checked(
    command: Command, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("SKH_DATA", str(tmp_path / "made" / "at start"))
    said = command("config", "check", "--part", "up")
    assert (said.code, said.err) == (0, "")
    read = {line.split(" ")[0] for line in said.out.splitlines()}
    assert {"SKH_DATA", "SKH_API_PORT", "SKH_CONTROLLER_PORT", "SKH_UNSIGNED_SENDERS"} <= read
    assert not read & {"SKH_KAFKA", "SKH_CLICKHOUSE_URL", "SKH_GROUP", "SKH_HEALTH_PORT"}
    (tmp_path / "file").touch()
    for name, value, says in (
        ("SKH_DATA", tmp_path / "file" / "below", f"SKH_DATA: {tmp_path / 'file'} is no directory"),
        ("SKH_STRATEGY", "guess", "SKH_STRATEGY: no strategy named 'guess'"),
        ("SKH_CONTROLLER_TOKENS", tmp_path / "tokens", "SKH_CONTROLLER_TOKENS: "),
        ("SKH_SENDER_KEYS", tmp_path / "ring", "SKH_SENDER_KEYS: "),
        ("SKH_NOTIFY", tmp_path / "notify.yaml", f"{tmp_path / 'notify.yaml'}: "),
    ):
        with environment.context() as only:
            only.setenv(name, str(value))
            said = command("config", "check", "--part", "up")
        assert said.code == 2
        assert said.error_line.startswith(f"skeletonhunter: {says}")


def test_a_part_that_is_none_is_told_which_there_are(command: Command) -> None:
    said = command("config", "check", "--part", "demo")
    assert said.code == 2
    assert said.error_line == (
        "skeletonhunter: Invalid value for '--part': 'demo' is not one of 'up', 'stream', 'sink', "
        "'api', 'controller', 'notify', 'migrate'; see skeletonhunter config check --help\n"
    )


def test_a_worker_of_remote_brokers_needs_a_key_ring(
    command: Command, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("SKH_KAFKA", "kafka.example.com:9092")
    assert (
        "SKH_SENDER_KEYS must be set" in command("config", "check", "--part", "stream").error_line
    )
    environment.setenv("SKH_SENDER_KEYS", secret(tmp_path / "ring", "k1:" + "ab" * 32))
    said = command("config", "check", "--part", "stream")
    assert (said.code, said.err) == (0, "")


def test_the_password_of_clickhouse_comes_from_a_file(tmp_path: Path) -> None:
    read = settings.read({
        "SKH_CLICKHOUSE_URL": "http://skh@db:8123/default",
        "SKH_CLICKHOUSE_PASSWORD_FILE": secret(tmp_path / "password", "a/b@c\n"),
    })  # fmt: skip
    assert read.require_clickhouse() == "http://skh:a%2Fb%40c@db:8123/default"
    assert "a/b" not in repr(read)


@pytest.mark.parametrize(
    "url", ["http://db:8123/default", "http://skh:other@db/default", "chdb:folder"]
)
def test_a_password_file_needs_a_url_with_a_user_and_no_password(
    command: Command, environment: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    environment.setenv("SKH_CLICKHOUSE_URL", url)
    environment.setenv("SKH_CLICKHOUSE_PASSWORD_FILE", secret(tmp_path / "password"))
    line = command("config", "check", "--part", "api").error_line
    assert "SKH_CLICKHOUSE_PASSWORD_FILE: SKH_CLICKHOUSE_URL must have a user" in line
    assert "other" not in line
