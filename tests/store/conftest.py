"""An empty store of the embedded engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store.client import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"chdb:{tmp_path / 'store'}")) as opened:
        yield opened
