"""Tables of a cluster with ZooKeeper: two servers make them, and are replicas of one another.

The embedded engine runs no queue of ON CLUSTER statements and listens to no replica, so each server
is given the statements itself, and none without a replica's answer: no ALTER, no insert.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders.store import clickhouse_cluster

from store import cluster, migrate
from testbed.services import kafka_server
from testbed.services.zookeeper_server import ZooKeeperServer

pytestmark = pytest.mark.kafka
ROOT = Path(__file__).parents[2]
#: A process for each server: an engine that cannot reach its replicas does not end by itself.
_SERVER = """
import os, sys
from pathlib import Path
sys.path[:0] = [{root!r}, {root!r} + "/tests"]
from builders.store import clickhouse_cluster
opened = clickhouse_cluster.open_cluster(Path({folder!r}), replica={replica!r}, zookeeper={port})
for statement in {statements!r}:
    opened.execute(statement)
for row in opened.rows("SELECT table, replica_path, total_replicas FROM system.replicas"):
    print(row["table"], row["replica_path"], row["total_replicas"])
sys.stdout.flush()
os._exit(0)
"""


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    if why := kafka_server.missing():
        pytest.skip(why)
    server = ZooKeeperServer(tmp_path)
    yield server
    server.stop()


def test_two_servers_make_the_tables_and_replicate_one_another(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    forms = cluster.statements(migrate.load(), clickhouse_cluster.NAME)
    created = [
        clickhouse_cluster.without_ddl_queue(each)
        for statements in forms for each in statements if not each.startswith("ALTER")
    ]  # fmt: skip
    tables = [each.split()[5] for each in created if each.startswith("CREATE TABLE")][::2]
    for count, replica in enumerate(("r1", "r2"), start=1):
        program = _SERVER.format(
            root=str(ROOT), folder=str(tmp_path), replica=replica, port=zookeeper.port,
            statements=created,
        )  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert sorted(done.stdout.splitlines()) == sorted(
            f"{table} /clickhouse/tables/01/default/{table}/replicas/{replica} {count}"
            for table in tables
        )
