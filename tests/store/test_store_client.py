"""The ClickHouse client: bad URLs, servers that are down, missing tables, statements at a time."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from store.client import BadStoreUrl, Store, StoreRefused, StoreUnavailable, open_store

LONG = "SELECT sleepEachRow(0.5) AS slept FROM numbers(6) SETTINGS max_block_size = 1"
RUNNING = "SELECT count() AS n FROM system.processes WHERE startsWith(query, 'SELECT sleepEachRow')"


@pytest.mark.parametrize(
    "url", ["", "chdb:", "ftp://h/d", "http://u:hunter2@", "http://u:hunter2@h:x/d",
            "http://u:hunter2@h/a;drop", "http://u:hunter2@h/d?password=hunter2"],
)  # fmt: skip
def test_a_bad_url_is_explained_without_its_password(url: str) -> None:
    with pytest.raises(BadStoreUrl, match=r"chdb:") as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)


def test_a_server_that_is_down_is_unavailable_and_its_password_stays_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        open_store("http://someone:hunter2@127.0.0.1:9/skh")
    said = "no ClickHouse answers at http://127.0.0.1:9/skh: Connection refused"
    assert str(caught.value) == said
    assert caplog.records == [], "the error says it once"


def test_an_insert_into_a_missing_table_says_to_migrate(store: Store) -> None:
    with pytest.raises(StoreRefused, match="skeletonhunter migrate"):
        store.insert("pings", pa.table({"path_id": pa.array([1], pa.uint64())}))


def test_a_short_statement_of_a_reader_does_not_wait_for_a_long_one(tmp_path: Path) -> None:
    with closing(open_store(f"chdb:{tmp_path / 'store'}", for_reads=True)) as store:
        done = threading.Event()

        def sleep() -> None:
            store.rows(LONG)
            done.set()

        long = threading.Thread(target=sleep)
        long.start()
        while not done.is_set() and not int(store.rows(RUNNING)[0]["n"]):
            pass
        assert not done.is_set(), "it was seen while it ran"
        long.join()


def test_more_statements_than_connections_run_one_after_another(tmp_path: Path) -> None:
    with closing(open_store(f"chdb:{tmp_path / 'store'}", for_reads=True)) as store:
        found: list[int] = []

        def ask(number: int) -> None:
            found.append(int(store.rows("SELECT {n:UInt32} AS n", {"n": number})[0]["n"]))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sorted(found) == [*range(8)]
