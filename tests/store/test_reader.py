"""The role of people: statements that the engine can parse, and a clear line where it has none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from builders.monitoring.canaries import CANARY, plant

from store import migrate, reader
from store.client import Store, open_store

QUOTE = "'"


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


def test_the_role_of_a_tenant_is_clickhouses_and_reads_nothing_without_a_policy(
    store: Store,
) -> None:
    done = reader.tenant_statements("skh", "blue.1-x")
    for statement in done:
        (row,) = store.rows("SELECT formatQuerySingleLine({q:String}) AS text", {"q": statement})
        assert "skh_reader" in row["text"] or "`incidents_of_blue.1-x`" in row["text"]
    granted = {each.split()[3] for each in done if each.startswith("GRANT")}
    restricted = {
        each.split()[7] for each in done if "AS RESTRICTIVE TO `skh_reader_blue.1-x`" in each
    }
    own = f"skh.{reader.view_of('blue.1-x')}"
    assert granted - restricted == {own, *(f"skh.{view}" for view in reader.VIEWS_OF_TENANT)}
    (made,) = [each for each in done if each.startswith(f"CREATE OR REPLACE VIEW {own} ")]
    assert " SQL SECURITY DEFINER AS SELECT " in made
    assert not any("*" in each for each in granted)
    for name in ("a b", "a`b", "a'b", "", "é"):
        with pytest.raises(ValueError, match="has a character"):
            reader.tenant_statements("skh", name)


def test_what_the_role_of_a_tenant_reads_names_no_other_tenant(store: Store) -> None:
    """The engine here keeps no row policies; the same conditions as filters of tables, which hold
    in views as well."""
    migrate.migrate(store)
    plant(store)
    filters = ", ".join(
        f"'{table}': '{condition.replace(QUOTE, 2 * QUOTE)}'"
        for table, condition in reader.conditions("blue").items()
    )
    found = {}
    for name in (*reader.OF_TENANT, *reader.VIEWS_OF_TENANT):
        if name in reader.OF_TENANT:
            assert CANARY in str(store.rows(f"SELECT * FROM {name}")), name
        settings = {"additional_table_filters": f"{{{filters}}}"}
        found[name] = store.rows(f"SELECT * FROM {name}", settings=settings)
        assert CANARY not in str(found[name]), name
    for name in (
        "incidents",
        "incidents_latest",
        "path_windows",
        "path_minutes",
        "placement",
        "jobs",
    ):
        assert found[name], name


def test_a_tenants_own_view_has_every_incident_that_hits_it_and_names_no_other(
    store: Store,
) -> None:
    """As the server runs it: with the rights of who made it, so without any filter."""
    migrate.migrate(store)
    plant(store)
    rows = store.rows(reader.incidents_query("default", "blue"))
    assert CANARY not in str(rows)
    seen = {row["incident_id"]: row for row in rows}
    assert seen.keys() == {"OWN", "SHARED", "CHILD", "NIC", "OVER"}
    assert seen["OWN"]["of_others"] == 0
    assert seen["OWN"]["explanation"] != ""
    shared = seen["SHARED"]
    assert (shared["of_others"], shared["component"], shared["tenants"], shared["jobs"]) == (
        1, "tor:t1", ["blue"], ["llm"],
    )  # fmt: skip
    assert (seen["NIC"]["component"], seen["CHILD"]["component"]) == ("rnic:?", "vswitch:?")
    assert "document" not in shared


def test_a_view_of_a_tenants_role_reads_no_table_without_a_condition(store: Store) -> None:
    migrate.migrate(store)
    for view in reader.VIEWS_OF_TENANT:
        (row,) = store.rows(
            "SELECT as_select AS text FROM system.tables WHERE database = currentDatabase()"
            " AND name = {view:String}", {"view": view},
        )  # fmt: skip
        tables = set(re.findall(r"(?:FROM|JOIN) default\.(\w+)", row["text"]))
        assert tables, view
        assert tables <= {*reader.OF_TENANT, *reader.VIEWS_OF_TENANT}, view


def test_the_role_of_a_tenant_is_refused_on_a_cluster(store: Store) -> None:
    with pytest.raises(ValueError, match="not tried on a cluster"):
        reader.make(store, "skh", "acme", "skh_cluster")
