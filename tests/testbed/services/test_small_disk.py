"""A small file system holds so much, and is gone with all of it when it is closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.services import small_disk
from testbed.services.small_disk import SmallDisk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    if why := small_disk.missing():
        pytest.skip(why)
    found = SmallDisk(tmp_path / "disk", 8)
    try:
        yield found
    finally:
        found.close()


def test_a_disk_that_is_filled_takes_nothing_until_it_is_freed(
    disk: SmallDisk, tmp_path: Path
) -> None:
    file = tmp_path / "disk" / "file"
    file.write_bytes(bytes(10_000))
    disk.fill()
    with pytest.raises(OSError, match="No space left"):
        (tmp_path / "disk" / "other").write_bytes(bytes(10_000))
    assert len(file.read_bytes()) == 10_000
    disk.free()
    (tmp_path / "disk" / "other").write_bytes(bytes(10_000))
    disk.close()
    assert not file.exists()
