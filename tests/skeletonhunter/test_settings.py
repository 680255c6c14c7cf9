"""Settings: bad values and typos are named, secrets are never shown, Kubernetes changes nothing."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from builders.command_line import Command

from skeletonhunter import settings
from skeletonhunter.commands.setup.settings import markdown
from skeletonhunter.errors import BadSettings
from skeletonhunter.services.stream import stream_config
from skeletonhunter.settings.allowed import allowed

ROOT = Path(__file__).parents[2]
#: As kubelet writes them for a Service skh-api with the ports 80 (named http) and 53/UDP.
INJECTED = {
    "SKH_API_SERVICE_HOST": "10.0.0.1",
    "SKH_API_SERVICE_PORT": "80",
    "SKH_API_SERVICE_PORT_HTTP": "80",
    "SKH_API_PORT": "tcp://10.0.0.1:80",
    "SKH_API_PORT_80_TCP": "tcp://10.0.0.1:80",
    "SKH_API_PORT_80_TCP_PROTO": "tcp",
    "SKH_API_PORT_80_TCP_PORT": "80",
    "SKH_API_PORT_80_TCP_ADDR": "10.0.0.1",
    "SKH_API_PORT_53_UDP": "udp://10.0.0.1:53",
    "SKH_API_PORT_53_UDP_PROTO": "udp",
    "SKH_STREAM_SERVICE_HOST": "fd00::1",
    "SKH_STREAM_PORT": "tcp://[fd00::1]:9090",
    "SKH_SERVICE_HOST": "10.0.0.2",
    "SKH_PORT": "tcp://10.0.0.2:80",
}


def test_a_worker_may_have_the_name_of_its_host() -> None:
    read = settings.read({"SKH_INSTANCE": "site-a-{hostname}"})
    assert read.instance == f"site-a-{socket.gethostname()}"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SKH_KAFAK", "x", "did you mean SKH_KAFKA?"),
        ("SKH_API_PORT", "99999", "SKH_API_PORT is '99999'"),
        ("SKH_HEALTH_PORT", "-2", "SKH_HEALTH_PORT is '-2'"),
        ("SKH_LOG_LEVEL", "LOUD", "SKH_LOG_LEVEL is 'LOUD'"),
        ("SKH_KAFKA_OPTIONS", "{", "SKH_KAFKA_OPTIONS"),
    ],
)
def test_a_bad_setting_is_named_with_its_value(name: str, value: str, says: str) -> None:
    with pytest.raises(BadSettings) as why:
        settings.read({name: value})
    assert says in str(why.value)


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("SKH_API_PORT", "99999", " is '99999': it must be a whole number from 0 to 65535"),
        ("SKH_API_PORT", "http", " is 'http': it must be a whole number from 0 to 65535"),
        ("SKH_HEALTH_PORT", "1.5", " is '1.5': it must be a whole number from -1 to 65535"),
        ("SKH_FALSE_PER_WEEK", "inf", " is 'inf': it must be a number above 0"),
        ("SKH_API_RATE", "-1", " is '-1': it must be a number from 0 to 100000"),
        ("SKH_API_SQL", "maybe", " is 'maybe': it must be true or false"),
        ("SKH_LOG_LEVEL", "LOUD", " is 'LOUD': it must be DEBUG, INFO, WARNING or ERROR"),
        ("SKH_LOG_FORMAT", "xml", " is 'xml': it must be text or json"),
        ("SKH_CLICKHOUSE_CLUSTER", "a b",
         " is 'a b': it must be a name of at most 64 letters, digits and _, no digit first"),
        ("SKH_CONTROLLER_URL", "host:8770", " is 'host:8770': it must be http(s)://host:port "
         "without a path, several with commas"),
        ("SKH_API_NAMES", '["a", 1, 2]', """ is '["a", 1, 2]': it must be a JSON array of texts, """
         """e.g. '["a", "b"]'"""),
        ("SKH_API_NAMES", "[a]", " is '[a]', not JSON from character 2 on: it must be a JSON array "
         """of texts, e.g. '["a", "b"]'"""),
        ("SKH_KAFKA_OPTIONS", "[]", ": not a JSON object; give one of librdkafka settings"),
        ("SKH_API_PORT", "token-123", ": it must be a whole number from 0 to 65535"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_one_line_that_says_what_is_allowed(
    name: str, value: str, line: str
) -> None:
    assert settings.examine({name: value}).mistakes == [name + line]


def test_what_is_allowed_is_said_of_every_setting() -> None:
    """A pattern needs words of its own."""
    for field, described in settings.Settings.model_json_schema()["properties"].items():
        kinds = [described, *described.get("anyOf", ())]
        assert described["allowed"] or not any("pattern" in each for each in kinds), field
        assert allowed(field)


@pytest.mark.parametrize(("name", "value"), [("SKH_PROBE_KEY", "x" * 32), ("SKH_NATIVE", "off")])
def test_a_variable_of_the_agent_is_not_an_unknown_setting(name: str, value: str) -> None:
    assert settings.read({name: value}).data == Path("var")


@pytest.mark.parametrize("name", sorted(INJECTED))
def test_a_variable_of_a_kubernetes_service_changes_nothing(name: str) -> None:
    assert settings.read({name: INJECTED[name]}) == settings.read({})


def test_variables_of_kubernetes_services_are_one_line_and_stop_no_command(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in INJECTED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", "http://127.0.0.1:1/default")
    settings.note_injected.cache_clear()  # another test's line was this process's
    said = command("migrate", "plan")
    assert said.code == 3, "the command went on, to where ClickHouse is not"
    lines = said.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("skeletonhunter: info: ignored what Kubernetes sets for a Service")
    assert f"and {len(INJECTED) - 3} more" in lines[0]


@pytest.mark.parametrize(
    ("name", "value", "near"),
    [
        ("SKH_API_PROT", "80", "SKH_API_PORT"),
        ("SKH_PORT", "80", "SKH_API_PORT"),
        ("SKH_API_PORTT", "tcp://10.0.0.1:80", "SKH_API_PORT"),
        ("SKH_KAFKA_HOST", "10.0.0.1", "SKH_KAFKA"),
        ("SKH_API_SERVICE_HOST", "me", "SKH_API_HOST"),
        ("SKH_LATENESS", "2", "SKH_LATENESS_S"),
    ],
)
def test_a_typo_that_looks_like_a_service_is_named(name: str, value: str, near: str) -> None:
    with pytest.raises(BadSettings, match=f"{name} is not a setting; did you mean {near}?"):
        settings.read({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SKH_KAFKA_OPTIONS", '{"sasl.password": "hunter2"'),
        ("SKH_KAFKA_OPTIONS", '["hunter2"]'),
        ("SKH_KAFKA_OPTIONS", '"hunter2"'),
        ("SKH_KAFKA_OPTIONS", "sasl.password=hunter2"),
        ("SKH_API_PORT", "http://me:hunter2@host"),
        ("SKH_LATENESS_S", "password=hunter2"),
        ("SKH_PASSWORD", "hunter2"),
        ("SKH_CLICKHOUSE_PASSWORD", "hunter2"),
    ],
)
def test_no_error_shows_a_secret(name: str, value: str) -> None:
    with pytest.raises(BadSettings) as why:
        settings.read({name: value})
    assert name in str(why.value)
    assert "hunter2" not in str(why.value)
    assert "\n" not in str(why.value)


@pytest.mark.parametrize(
    "url", ["ftp://me:hunter2@host", "http://me:hunter2@host:port/x", "http://me:hunter2@h/a b/c"]
)
def test_a_bad_clickhouse_url_does_not_show_its_password(
    command: Command, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", url)
    said = command("migrate", "plan")
    assert said.code == 2
    assert "SKH_CLICKHOUSE_URL" in said.err
    assert "hunter2" not in said.err


def test_lists_and_objects_are_read_as_json() -> None:
    read = settings.read({"SKH_API_NAMES": '["a", "b"]', "SKH_KAFKA_OPTIONS": '{"x.y": 1}'})
    assert read.api_names == ["a", "b"]
    assert read.kafka_settings() == {"x.y": "1"}


def test_a_strategy_that_is_not_registered_is_an_error_at_start(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKH_STRATEGY", "guess")
    said = command("up", "--data", tmp_path, "--port", "0")
    assert said.code == 2
    assert "SKH_STRATEGY: no strategy named 'guess'; choose one of deepview" in said.err


def test_the_page_of_settings_is_up_to_date() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == markdown().rstrip("\n") + "\n", (
        "run `skeletonhunter settings --format markdown > docs/settings.md`"
    )


def test_settings_lists_every_variable_with_the_commands_that_read_it(command: Command) -> None:
    said = command("settings")
    assert said.code == 0
    for name in (*settings.known(), *settings.AGENT_VARIABLES):
        assert f"\n{name}" in f"\n{said.out}"
    assert "read by up, stream" in said.out
    assert "read by skeletonhunter-agent" in said.out


def test_the_password_of_kafka_comes_from_a_file_and_is_shown_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.touch(mode=0o600)
    file.write_text("s3cret\n")
    config = settings.read({
        "SKH_KAFKA": "127.0.0.1:9092",
        "SKH_KAFKA_OPTIONS": '{"sasl.username": "skh", "linger.ms": 5}',
        "SKH_KAFKA_PASSWORD_FILE": str(file),
    })  # fmt: skip
    assert config.librdkafka() == {
        "bootstrap.servers": "127.0.0.1:9092", "sasl.username": "skh", "linger.ms": "5",
        "sasl.password": "s3cret",
    }  # fmt: skip
    assert "s3cret" not in repr(config) + repr(stream_config(config))
    file.chmod(0o604)
    with pytest.raises(BadSettings, match=r"SKH_KAFKA_PASSWORD_FILE.*chmod 600"):
        config.librdkafka()


def test_the_brokers_cannot_be_set_among_the_options_of_kafka() -> None:
    with pytest.raises(BadSettings, match=r"bootstrap\.servers is set by SkeletonHunter"):
        settings.read({"SKH_KAFKA_OPTIONS": '{"bootstrap.servers": "x"}'})
