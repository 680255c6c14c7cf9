"""A migrated store of the embedded engine, and the service over it on a port of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
import pyarrow as pa
import pytest
from builders.api_service import Hanging, Put, served
from builders.monitoring import path_windows

from schemas.documents.incident import Incident, encode
from store import migrate
from store.client import Store, open_store
from streams.sink import rows as sink_rows

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if shutil.which(CHROMIUM) is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One per module: a process may have only one path open."""
    with closing(open_store(f"chdb:{tmp_path_factory.mktemp('api')}")) as opened:
        migrate.migrate(opened)
        yield opened


@pytest.fixture(scope="module")
def server(engine: Store) -> Iterator[httpx.Client]:
    with served(engine) as opened:
        yield opened


@pytest.fixture
def store(engine: Store) -> Store:
    """Migrated and empty."""
    for table in (
        "incidents", "incident_actions", "path_windows", "path_half_minutes", "tor_minutes",
        "tor_hours", "coverage", "anomalies",
        "topology_components", "placement", "jobs", "job_skeletons",
        "heartbeats", "pings", "dead_letters",
    ):  # fmt: skip
        engine.execute(f"TRUNCATE TABLE {table}")
    return engine


@pytest.fixture
def put(store: Store) -> Put:
    """put(incident, ...) stores versions of incidents, as the sink would."""

    def insert(*incidents: Incident) -> None:
        rows = [sink_rows.incident(encode(incident)) for incident in incidents]
        store.insert("incidents", pa.concat_tables(rows))

    return insert


@pytest.fixture
def watch(store: Store) -> Callable[[int], None]:
    """watch(n) lets n paths have a window."""

    def insert(paths: int) -> None:
        columns = {"path_id": pa.array(range(paths), pa.uint64())}
        columns["records"] = pa.array([30] * paths, pa.uint32())
        store.insert("path_windows", pa.table(columns))

    return insert


@pytest.fixture
def put_windows(store: Store) -> Callable[..., None]:
    """put_windows(row, ...) stores windows of paths (see ``builders.path_windows``)."""

    def insert(*rows: dict[str, Any]) -> None:
        store.insert("path_windows", path_windows.table(rows))

    return insert


@pytest.fixture
def client(store: Store, server: httpx.Client) -> httpx.Client:
    """Speaks to a service over an empty store."""
    return server


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    store = Hanging()
    yield store
    store.go_on.set()
