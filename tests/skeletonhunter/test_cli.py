"""The command: exit codes, one line on stderr, settings that fail early."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from schemas import topics
from schemas.documents import json_schemas
from skeletonhunter import cli, settings
from skeletonhunter.errors import BadSettings


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith(settings.PREFIX):
            monkeypatch.delenv(name)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


@pytest.mark.parametrize(
    ("command", "lacks"),
    [
        ("stream", "SKH_KAFKA"),
        ("sink", "SKH_KAFKA and SKH_CLICKHOUSE_URL"),
        ("api", "SKH_CLICKHOUSE_URL"),
    ],
)
def test_parts_name_the_settings_that_they_lack(
    command: str, lacks: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command) == 2
    said = one_line(capsys)
    assert f": {lacks} must be set for this command" in said
    assert "skeletonhunter up" in said


def test_only_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SKH_KAFKA", "127.0.0.1:1")
    assert run("sink") == 2
    assert "SKH_KAFKA " not in one_line(capsys)
    assert run("topics", "--create") == 3
    assert "127.0.0.1:1" in one_line(capsys)
    assert run("migrate", "plan") == 2
    assert "SKH_CLICKHOUSE_URL" in one_line(capsys)


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        ("stream", "SKH_KAFKA", "127.0.0.1:1"),
        ("api", "SKH_CLICKHOUSE_URL", "http://me:secret@127.0.0.1:1/default"),
    ],
)
def test_a_part_looks_only_for_what_it_needs(
    command: str,
    name: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(name, value)
    assert run(command) == 3
    said = one_line(capsys)
    assert "127.0.0.1:1" in said
    assert "secret" not in said


def test_an_unreachable_dependency_is_three(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SKH_KAFKA", "127.0.0.1:1")
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", "http://me:secret@127.0.0.1:1/default")
    for command in (["stream"], ["sink"], ["api"], ["migrate", "plan"]):
        assert run(*command) == 3, command
        said = one_line(capsys)
        assert "127.0.0.1:1" in said
        assert "secret" not in said


@pytest.mark.parametrize(
    "arguments", [["fly"], ["up", "--fly"], ["up", "--port", "many"], ["up", "--port", "70000"]]
)
def test_wrong_usage_is_two_and_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert "--help" in one_line(capsys)


def test_an_unreadable_topology_is_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "absent.json"
    assert run("up", "--topology", str(absent), "--data", str(tmp_path / "var")) == 2
    assert str(absent) in one_line(capsys)


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
def test_a_bad_setting_is_named_with_its_value(
    name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings) as why:
        settings.read()
    assert says in str(why.value)


def test_the_agents_key_is_no_unknown_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKH_PROBE_KEY", "x" * 32)
    assert settings.read().data == Path("var")


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    app = cli.build()
    names = [[c.name or c.callback.__name__] for c in app.registered_commands if c.callback]
    names += [["migrate", name] for name in ("plan", "status", "apply")]
    for name in names:
        assert run(*name, "--help") == 0, name
        assert "Example: " in capsys.readouterr().out, name


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out.startswith("skeletonhunter ")


def test_topics_lists_every_edge(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("topics") == 0
    said = capsys.readouterr().out
    assert all(topic.name in said for topic in topics.ALL)


def test_json_schemas_in_the_tree_are_those_of_the_structs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("topics", "--json-schemas", str(tmp_path)) == 0
    for name, text in json_schemas.files().items():
        assert (tmp_path / name).read_text() == text
        assert (json_schemas.FOLDER / name).read_text() == text, (
            "run `skeletonhunter topics --json-schemas schemas/json`"
        )
        jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_migrations_of_the_command_are_those_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from store import migrate

    monkeypatch.setenv("SKH_CLICKHOUSE_URL", f"chdb:{tmp_path / 'db'}")
    count = len(migrate.load())
    assert run("migrate", "plan") == 0
    assert f"{count} pending" in capsys.readouterr().out
    assert run("migrate", "apply") == 0
    assert f"{count} applied" in capsys.readouterr().out
    assert run("migrate", "status") == 0
    assert capsys.readouterr().out.count("applied ") >= count
    assert run("migrate", "apply") == 0
    assert "0 applied" in capsys.readouterr().out
