"""Which store `sql` asks: --data, else an API that runs here, else the store of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from builders.api_service import served
from builders.command_line import Command

from store import migrate
from store.client import Store, open_store
from store.read_only import ReadOnlySql

NOWHERE = "http://127.0.0.1:1/default"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(open_store(f"chdb:{tmp_path_factory.mktemp('place') / 'chdb'}")) as opened:
        migrate.migrate(opened)
        yield opened


@pytest.fixture
def folder(engine: Store) -> Path:
    """Of a store that no `up` holds."""
    return Path(engine.name.removeprefix("chdb:")).parent


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the settings, with a store that cannot be opened beside the engine's."""
    (tmp_path / "old" / "chdb").mkdir(parents=True)
    monkeypatch.setenv("SKH_DATA", str(tmp_path / "old"))
    return tmp_path / "old"


@contextmanager
def demo(engine: Store, monkeypatch: pytest.MonkeyPatch, *, sql: bool) -> Iterator[None]:
    """An API on the usual port, as of `demo`, or of `up` without SKH_API_SQL."""
    with (
        closing(open_store(engine.name)) as own,
        served(engine, people_sql=ReadOnlySql(own) if sql else None) as client,
    ):
        monkeypatch.setenv("SKH_API_PORT", str(client.base_url.port))
        yield


def test_a_running_demo_is_asked_before_an_old_folder(
    command: Command, engine: Store, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with demo(engine, monkeypatch, sql=True):
        done = command("sql", "SELECT 6 * 7 AS n", "--format", "tsv")
    assert (done.code, done.out) == (0, "n\n42\n"), done
    assert list(old.iterdir()) == [old / "chdb"], "asking makes no file in a folder"


def test_a_running_demo_is_asked_before_the_server_of_the_settings(
    command: Command, engine: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", NOWHERE)
    with demo(engine, monkeypatch, sql=True):
        assert command("sql", "SELECT 6 * 7", "--format", "tsv").code == 0


def test_an_api_without_sql_is_asked_only_where_there_is_no_store(
    command: Command, engine: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with demo(engine, monkeypatch, sql=False):
        monkeypatch.setenv("SKH_DATA", str(folder))
        assert command("sql", "SELECT 6 * 7 AS n", "--format", "tsv").out == "n\n42\n"
        monkeypatch.setenv("SKH_DATA", str(tmp_path / "absent"))
        assert "SKH_API_SQL=true" in command("sql", "SELECT 1").error_line


def test_a_folder_that_is_given_is_asked_whatever_runs(
    command: Command, engine: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", NOWHERE)
    with demo(engine, monkeypatch, sql=False):
        done = command("sql", "SELECT 6 * 7 AS n", "--data", folder, "--format", "tsv")
    assert (done.code, done.out) == (0, "n\n42\n"), done


@pytest.mark.parametrize("name", ["absent", "file"])
def test_a_given_folder_without_a_store_is_code_2_whatever_runs(
    command: Command, engine: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "file").touch()
    with demo(engine, monkeypatch, sql=True):
        done = command("sql", "SELECT 1", "--data", tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert f"{tmp_path / name}: there is no store" in done.error_line
    assert "CLICKHOUSE" not in done.error_line, "with --data it changes nothing"


def test_url_and_data_are_two_places(command: Command, tmp_path: Path) -> None:
    done = command("sql", "SELECT 1", "--data", tmp_path, "--url", "http://127.0.0.1:9/")
    assert (done.code, "give one of them" in done.error_line) == (2, True)
