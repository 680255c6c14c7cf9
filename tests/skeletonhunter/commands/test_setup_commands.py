"""topics and migrate: what is listed, written and applied."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from builders.command_line import Command

from schemas import json_schemas, topics
from store import migrate


def test_topics_lists_every_topic(command: Command) -> None:
    done = command("topics")
    assert done.code == 0
    assert all(topic.name in done.out for topic in topics.ALL)


def test_json_schemas_in_the_tree_are_those_of_the_structs(
    command: Command, tmp_path: Path
) -> None:
    assert command("topics", "--json-schemas", tmp_path).code == 0
    for name, text in json_schemas.files().items():
        assert (tmp_path / name).read_text() == text
        assert (json_schemas.FOLDER / name).read_text() == text, (
            "run `skeletonhunter topics --json-schemas schemas/json`"
        )
        jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_migrate_names_the_setting_that_it_lacks(command: Command) -> None:
    done = command("migrate", "plan")
    assert done.code == 2
    assert "SKH_CLICKHOUSE_URL" in done.error_line


def test_migrate_applies_every_migration_once(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", f"chdb:{tmp_path / 'db'}")
    count = len(migrate.load())
    for arguments, printed in (
        (["plan"], f"{count} pending"), (["apply"], f"{count} applied"), (["apply"], "0 applied"),
    ):  # fmt: skip
        done = command("migrate", *arguments)
        assert (done.code, printed in done.out) == (0, True), done
    assert command("migrate", "status").out.count("applied ") >= count


def test_migrate_prints_the_statements_of_one_server_or_of_a_cluster(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = command("migrate", "print")
    assert (plain.code, "ON CLUSTER" in plain.out) == (0, False)
    assert plain.out.count("\n-- 0") + 1 == len(migrate.load())
    asked = command("migrate", "print", "--cluster", "skh")
    assert "CREATE TABLE IF NOT EXISTS pings_local ON CLUSTER skh" in asked.out
    monkeypatch.setenv("SKH_CLICKHOUSE_CLUSTER", "skh")
    assert command("migrate", "print").out == asked.out
    assert command("migrate", "print", "--cluster", "a; b").code == 2


def test_migrate_applies_the_form_of_the_configured_cluster(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", f"chdb:{tmp_path / 'db'}")
    assert command("migrate", "apply").code == 0
    monkeypatch.setenv("SKH_CLICKHOUSE_CLUSTER", "skh")
    done = command("migrate", "apply")
    assert (done.code, "use a new database" in done.error_line) == (2, True), done
