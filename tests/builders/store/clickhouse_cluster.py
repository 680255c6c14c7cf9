"""The embedded engine as the only server of a cluster of ClickHouse, with or without ZooKeeper."""

from __future__ import annotations

import re
from pathlib import Path

import clickhouse_connect

from store.client import Store

NAME = "skh"
_CONFIGURATION = """
<clickhouse>
  <tcp_port>9000</tcp_port>
  <macros><shard>01</shard><replica>{replica}</replica></macros>
  <remote_servers>
    <skh><shard><internal_replication>true</internal_replication>
      <replica><host>127.0.0.1</host><port>9000</port></replica></shard></skh>
  </remote_servers>
  {zookeeper}
</clickhouse>
"""
_ZOOKEEPER = "<zookeeper><node><host>127.0.0.1</host><port>{port}</port></node></zookeeper>"


def open_cluster(folder: Path, *, replica: str = "r1", zookeeper: int | None = None) -> Store:
    """Nothing listens on the cluster's port: the engine knows that its one server is itself.

    zookeeper  port on loopback; None: tables cannot be replicated
    """
    configuration = folder / f"{replica}.xml"
    keeper = _ZOOKEEPER.format(port=zookeeper) if zookeeper else ""
    configuration.write_text(_CONFIGURATION.format(replica=replica, zookeeper=keeper))
    client = clickhouse_connect.get_client(
        interface="chdb", path=str(folder / replica),
        chdb_options={"config-file": str(configuration)},
    )  # fmt: skip
    return Store([client], f"cluster:{replica}")


def without_ddl_queue(statement: str) -> str:
    """The statement as each server of the cluster runs it; chDB has no queue of statements."""
    return statement.replace(f" ON CLUSTER {NAME}", "", 1)


def without_replicas(statement: str) -> str:
    """The statement with a table that is not replicated."""
    return re.sub(r"ENGINE = Replicated(\w+)\('[^']*', '[^']*'(?:, )?", r"ENGINE = \1(", statement)
