"""ClickHouse's engine behind HTTP stores rows, and fails when it is asked to."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from store.client import Store, StoreRefused, StoreUnavailable, open_store
from testbed.services.ports import free_port

ROWS = pa.table({"id": [1, 2]})


class Server:
    """A server of one folder; its process may end and be started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/default"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "testbed.services.store_server", f"chdb:{self._folder}",
             str(self.port)],
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)  # between two looks at a condition with a deadline
            else:
                return
        pytest.fail("the server does not listen")

    def fault(self, **faults: float | bool | str) -> None:
        body = json.dumps(faults).encode()
        httpx.post(f"http://127.0.0.1:{self.port}/fault", content=body, timeout=60)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    try:
        open_store(found.url).execute("CREATE TABLE t (id UInt64) ENGINE MergeTree ORDER BY id")
        yield found
    finally:
        found.process.kill()
        found.process.wait(10)


def count(store: Store) -> int:
    found: int = store.rows("SELECT count() AS n FROM t")[0]["n"]
    return found


def test_a_read_only_store_refuses_inserts_until_it_is_healed(server: Server) -> None:
    store = open_store(server.url)
    store.insert("t", ROWS)
    server.fault(read_only=True)
    with pytest.raises(StoreUnavailable):
        store.insert("t", ROWS)
    assert count(store) == 2
    server.fault()
    store.insert("t", ROWS)
    assert count(store) == 4


@pytest.mark.parametrize("code", [75, 76, 1001], ids=["write", "open", "create"])
def test_a_store_whose_disk_fills_up_in_a_write_is_tried_again(server: Server, code: int) -> None:
    store = open_store(server.url)
    server.fault(code=code, text="errno: 28, strerror: No space left on device")
    with pytest.raises(StoreUnavailable):
        store.insert("t", ROWS)
    server.fault(code=code, text="Permission denied")
    with pytest.raises(StoreRefused):
        store.insert("t", ROWS)


def test_a_store_that_dies_in_a_batch_has_the_rows_but_does_not_say_so(server: Server) -> None:
    store = open_store(server.url)
    server.fault(die_after=1)
    with pytest.raises(StoreUnavailable):
        store.insert("t", ROWS)
    server.process.wait(60)
    server.start()
    assert count(open_store(server.url)) == 2


def test_parameters_of_a_statement_are_bound_and_no_sql(server: Server) -> None:
    store = open_store(server.url)
    known = {"id": 7, "name": "x'); DROP TABLE t; --"}
    store.execute("INSERT INTO t SELECT {id:UInt64} + length({name:String})", known)
    assert store.rows("SELECT id FROM t") == [{"id": 7 + len(str(known["name"]))}]


def test_a_parameter_may_be_an_array(server: Server) -> None:
    known = {"ids": [7, 8], "names": ["a", "it's"]}
    sql = "SELECT {ids:Array(UInt64)}[2] + length({names:Array(String)}[2]) AS n"
    assert open_store(server.url).rows(sql, known) == [{"n": 12}]
