"""SQL of people: a SELECT over our tables runs, and nothing else does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders.monitoring.known_store import known_store
from builders.monitoring.prometheus_tools import PROJECT

from store.client import Store
from store.read_only import FORMATS, LONGEST, ReadLimits, ReadOnlySql, SqlRefused
from store.statement_errors import ONLY_SELECT


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with known_store(tmp_path_factory.mktemp("people") / "store") as opened:
        yield opened


@pytest.fixture
def sql(store: Store) -> ReadOnlySql:
    return ReadOnlySql(store, ReadLimits(seconds=60))


def rows(sql: ReadOnlySql, statement: str, **parameters: str) -> list[list[Any]]:
    raw, media = sql.query(statement, parameters, "JSONCompact")
    assert media == "application/json"
    return json.loads(raw)["data"]  # type: ignore[no-any-return]


REFUSED = {
    "SELECT * FROM file('/etc/passwd')": "function file",
    "SELECT * FROM file('/etc/passwd', 'CSV', 'a String')": "function file",
    "SELECT file('/etc/passwd')": "function file",
    "SELECT * FROM (SELECT * FROM file('/etc/passwd', 'CSV', 'a String'))": "function file",
    "WITH x AS (SELECT file('/etc/passwd')) SELECT * FROM x": "function file",
    "SELECT 1 WHERE 1 IN file('/etc/passwd', 'CSV', 'a String')": "function file",
    "SELECT /**/ * FROM FILE('/etc/passwd')": "function FILE",
    "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')": "function url",
    "SELECT * FROM s3('http://127.0.0.1:1/x')": "function s3",
    "SELECT * FROM remote('127.0.0.1', system.one)": "function remote",
    "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')": "function mysql",
    "SELECT * FROM executable('id', 'CSV', 'a String')": "function executable",
    "SELECT * FROM python('x')": "function python",
    "SELECT * FROM merge('system', '.*')": "function merge",
    "SELECT * FROM view(SELECT 1)": "function view",
    "SELECT * FROM cluster('default', system.one)": "function cluster",
    "SELECT dictGet('d', 'a', 1)": "function dictGet",
    "SELECT getServerSetting('max_concurrent_queries')": "function getServerSetting",
    "SELECT hostName()": "function hostName",
    "SELECT sleep(3)": "function sleep",
    "SELECT aiGenerate('x', 'y')": "function aiGenerate",
    "SELECT 1 INTO OUTFILE '/tmp/skh-outfile'": "INTO OUTFILE",
    "SELECT 1 INTO OUTFILE '/tmp/skh-outfile' FORMAT CSV": "INTO OUTFILE",
    "SELECT * FROM system.users": "table system.users",
    "SELECT * FROM `system`.`users`": "table system.users",
    "SELECT * FROM system.named_collections": "table system.named_collections",
    "SELECT * FROM system.processes": "table system.processes",
    "SELECT * FROM system.server_settings": "table system.server_settings",
    "SELECT 1 WHERE 'a' IN system.users": "table system.users",
    "SELECT 1 WHERE 'a' IN (SELECT name FROM system.users)": "table system.users",
    "SELECT * FROM information_schema.tables": "table information_schema.tables",
    "SELECT 1 SETTINGS max_execution_time = 0": "SETTINGS",
    "SELECT * FROM (SELECT 1 SETTINGS readonly = 0)": "SETTINGS",
    "SELECT 1; SELECT 2": "Multi-statements are not allowed",
    "SELECT 1; DROP TABLE pings": "Multi-statements are not allowed",
    "DROP TABLE pings": "only SELECT",
    "TRUNCATE TABLE pings": "only SELECT",
    "CREATE TABLE x (a Int8) ENGINE = Memory": "only SELECT",
    "INSERT INTO pings (path_id) VALUES (1)": "only SELECT",
    "INSERT INTO FUNCTION file('/tmp/skh-outfile') SELECT 1": "only SELECT",
    "SET readonly = 0": "only SELECT",
    "SYSTEM SHUTDOWN": "only SELECT",
    "GRANT ALL ON *.* TO default": "only SELECT",
    "KILL QUERY WHERE 1": "only SELECT",
    "DESCRIBE TABLE file('/etc/passwd')": "function file",
    "SELECT nothing FROM pings": "Unknown expression identifier `nothing`; DESCRIBE TABLE lists",
    "SELECT": "Syntax error",
    "SHOW TABLES": "SELECT name, comment FROM system.tables WHERE database = currentDatabase() l",
    "SELECT * FROM pathminutes": "lists the tables, DESCRIBE TABLE incidents_latest the columns",
    "SELECT count() FROM pings WHERE ping_time > {at:DateTime}": "is not set; give its value: --p",
    "": "Empty query",
}


@pytest.mark.parametrize("statement", list(REFUSED))
def test_a_statement_that_reaches_beyond_our_tables_is_refused(
    sql: ReadOnlySql, statement: str
) -> None:
    with pytest.raises(SqlRefused, match=re.escape(REFUSED[statement])):
        sql.query(statement)
    assert not Path("/tmp/skh-outfile").exists()  # noqa: S108  # it must not be written


def test_an_error_of_syntax_is_short(sql: ReadOnlySql) -> None:
    """The engine lists each token that it would have taken: a screen of them."""
    with pytest.raises(SqlRefused, match="Syntax error: failed at position") as refused:
        sql.query("SELECT component FORM incidents_latest")
    assert "Expected one of" not in str(refused.value)
    assert len(str(refused.value)) < 150
    assert ONLY_SELECT not in str(refused.value)


def test_a_statement_that_begins_with_no_word_that_may_says_which_may(sql: ReadOnlySql) -> None:
    with pytest.raises(SqlRefused, match="failed at position") as refused:
        sql.query("SELEC 1")
    assert str(refused.value).endswith(ONLY_SELECT)


def test_a_result_after_one_over_a_limit_is_its_own(store: Store) -> None:
    """chDB puts what a failed query had written before the next result of a connection."""
    sql = ReadOnlySql(store, ReadLimits(result_rows=10))
    with pytest.raises(SqlRefused):
        sql.query("SELECT number FROM numbers(1000)", form="JSON")
    assert sql.query("SELECT 7", form="TabSeparated")[0] == b"7\n"


@pytest.mark.parametrize(
    ("limits", "statement", "complaint"),
    [
        (
            {"result_rows": 10},
            "SELECT number FROM numbers(100)",
            "Limit for result exceeded.*; add LIMIT",
        ),
        (
            {"read_rows": 10},
            "SELECT sum(number) FROM numbers(100)",
            "Limit for rows .*; add a condition on time",
        ),
        (
            {"seconds": 1, "read_rows": 10**14},
            "SELECT sum(sipHash64(number)) FROM numbers(10000000000000)",
            "Timeout exceeded",
        ),
        (
            {"memory_bytes": 32 * 1024 * 1024},
            "SELECT uniqExact(number) FROM numbers(10000000)",
            "emory limit",
        ),
    ],
)
def test_what_a_statement_may_use_is_bounded(
    store: Store, limits: dict[str, int], statement: str, complaint: str
) -> None:
    with pytest.raises(SqlRefused, match=complaint):
        ReadOnlySql(store, ReadLimits(**limits)).query(statement, form="TabSeparated")


def test_a_long_statement_is_refused(sql: ReadOnlySql) -> None:
    with pytest.raises(SqlRefused, match=f"may have {LONGEST} characters"):
        sql.query("SELECT 1" + " " * LONGEST)


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SELECT {a:UInt8} + 1", [[5]]),
        ("SELECT sumIf(number, number > 1), uniqExact(number) FROM numbers(4)", None),
        ("WITH a AS (SELECT 1 AS x) SELECT x FROM a UNION ALL SELECT 2 ORDER BY 1", [[1], [2]]),
        ("SELECT arrayMap(x -> x + 1, [1, 2]) AS y, 'FORMAT; INTO OUTFILE'", None),
        ("SELECT count() FROM job_path_windows WHERE job = 'llm' AND src_rail = 0", None),
        ("SELECT i.component FROM incidents_latest AS i JOIN path_minutes AS p ON 1 LIMIT 1", None),
        ("SELECT name FROM system.columns WHERE table = 'pings' LIMIT 1", [["path_id"]]),
        ("DESCRIBE TABLE pings_unique", None),
        ("SELECT version(), timezone(), currentDatabase()", None),
    ],
)
def test_what_analysts_write_runs(
    sql: ReadOnlySql, statement: str, wanted: list[list[Any]] | None
) -> None:
    found = rows(sql, statement, **({"a": "4"} if "{a:" in statement else {}))
    assert found
    assert wanted is None or found == wanted


def test_every_question_of_the_page_may_be_asked(sql: ReadOnlySql) -> None:
    page = (PROJECT / "docs/sql.md").read_text()
    values = {
        "since": "2026-01-31 11:00:00", "at": "2026-01-31 12:05:30", "job": "llm-70b",
        "incident": "AAAA", "host": "h1", "from": "p1", "to": "p2", "path": "1",
        "fabric": "f1", "tor": "t1", "switch": "agg:a1", "now": "2026-01-31 12:06:00",
        "before": "2026-01-30 00:00:00.000", "after": "2026-01-31 00:00:00.000",
        "rnic": "rnic:10.0.0.1", "peer": "h2",
    }  # fmt: skip
    for query in re.findall(r"```sql\n(.*?)```", page, re.DOTALL):
        sql.query(query, {name: v for name, v in values.items() if f"{{{name}:" in query})


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_result_comes_in_each_format(sql: ReadOnlySql, form: str) -> None:
    raw, media = sql.query("SELECT 1 AS one", form=form)
    assert raw
    assert media == FORMATS[form]
    assert sql.query(f"SELECT 1 AS one FORMAT {form}", form="CSV")[1] == media


def test_another_format_is_refused(sql: ReadOnlySql) -> None:
    with pytest.raises(SqlRefused, match="format Template is not one of Arrow"):
        sql.query("SELECT 1 FORMAT Template")
