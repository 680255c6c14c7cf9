"""The role of people: statements that the engine can parse, and a clear line where it has none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from store import reader
from store.client import Store, open_store


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(open_store(f"chdb:{tmp_path_factory.mktemp('reader') / 'store'}")) as opened:
        yield opened


def test_every_statement_is_clickhouses(store: Store) -> None:
    for statement in reader.statements("skh"):
        (row,) = store.rows("SELECT formatQuerySingleLine({q:String}) AS text", {"q": statement})
        assert "skh_reader" in row["text"]


def test_the_role_may_select_from_one_database_and_nothing_else() -> None:
    grants = [each for each in reader.statements("skh") if each.startswith("GRANT")]
    assert grants == ["GRANT SELECT ON skh.* TO skh_reader"]


def test_the_embedded_engine_keeps_no_roles_and_says_so(store: Store) -> None:
    with pytest.raises(reader.RolesUnsupported, match="keeps no roles for this user"):
        reader.make(store, "default")


def test_a_server_runs_every_statement() -> None:
    class Server:
        def __init__(self) -> None:
            self.ran: list[str] = []

        def execute(self, sql: str) -> None:
            self.ran.append(sql)

    server = Server()
    assert reader.make(server, "skh") == server.ran == reader.statements("skh")
