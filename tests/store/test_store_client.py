"""The ClickHouse client: bad URLs, servers that are down, missing tables."""

from __future__ import annotations

import pyarrow as pa
import pytest

from store.client import BadStoreUrl, Store, StoreRefused, StoreUnavailable, open_store


@pytest.mark.parametrize(
    "url", ["", "chdb:", "ftp://h/d", "http://u:hunter2@", "http://u:hunter2@h:x/d",
            "http://u:hunter2@h/a;drop", "http://u:hunter2@h/d?password=hunter2"],
)  # fmt: skip
def test_a_bad_url_is_explained_without_its_password(url: str) -> None:
    with pytest.raises(BadStoreUrl, match=r"chdb:") as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)


def test_a_server_that_is_down_is_unavailable_and_its_password_stays_secret() -> None:
    with pytest.raises(StoreUnavailable, match=r"http://127\.0\.0\.1:9/skh") as caught:
        open_store("http://someone:hunter2@127.0.0.1:9/skh")
    assert "hunter2" not in str(caught.value)


def test_an_insert_into_a_missing_table_says_to_migrate(store: Store) -> None:
    with pytest.raises(StoreRefused, match="skeletonhunter migrate"):
        store.insert("pings", pa.table({"path_id": pa.array([1], pa.uint64())}))
