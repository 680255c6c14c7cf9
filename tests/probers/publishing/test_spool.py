"""Messages on disk: in order, bounded, and there again after the process has died."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from probers.publishing.frames import Frame
from probers.publishing.spool import Spool, SpoolError, SpoolLimits
from schemas import topics

NS = 1_000_000_000


def frame(number: int, size: int = 10) -> Frame:
    payload = number.to_bytes(4, "big") * (size // 4)
    return Frame(topics.PINGS.name, "host-1", topics.ARROW, payload, {"relay-client": b"box"})


def filled(folder: Path, count: int, limits: SpoolLimits | None = None, size: int = 10) -> Spool:
    spool = Spool(folder, limits)
    assert [spool.append(frame(i, size), i * NS) for i in range(count)] == list(range(count))
    return spool


def after_a_crash(folder: Path, limits: SpoolLimits | None = None) -> Spool:
    """The files as a process leaves them that is killed: nothing is closed or written any more."""
    return Spool(shutil.copytree(folder, folder / "left"), limits)


def test_messages_that_are_not_done_are_there_after_a_crash_in_their_order(tmp_path: Path) -> None:
    spool = filled(tmp_path, 10)
    for number in (0, 1, 4):
        spool.done(number)
    again = after_a_crash(tmp_path)
    assert again.pending() == [2, 3, 5, 6, 7, 8, 9]
    assert [again.read(number) for number in again.pending()] == [
        frame(number) for number in (2, 3, 5, 6, 7, 8, 9)
    ]
    assert again.append(frame(10), 10 * NS) == 10
    assert not again.lost


def test_a_message_that_was_half_written_is_cut_off(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    (file,) = tmp_path.glob("*.segment")
    os.truncate(file, file.stat().st_size - 3)
    again = after_a_crash(tmp_path)
    assert again.pending() == [0, 1]
    assert again.torn > 0
    assert again.append(frame(2), 0) == 2
    assert again.read(2) == frame(2)


@pytest.mark.parametrize("damage", [b"\xff" * 8, b"\x00" * 8])
def test_damage_in_the_middle_costs_what_follows_it_in_that_file_only(
    tmp_path: Path, damage: bytes
) -> None:
    limits = SpoolLimits(segment_bytes=400)
    filled(tmp_path, 12, limits)
    first, *others = sorted(tmp_path.glob("*.segment"))
    assert others
    with first.open("r+b") as file:
        file.seek(first.stat().st_size // 2)
        file.write(damage)
    again = after_a_crash(tmp_path, limits)
    kept = again.pending()
    assert kept[0] == 0
    assert kept[-1] == 11
    assert kept != list(range(12))
    assert all(again.read(number) == frame(number) for number in kept)
    assert again.torn > 0


def test_a_file_that_is_none_of_its_own_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.segment").write_text("hello")
    with pytest.raises(SpoolError, match="move its files away") as why:
        Spool(tmp_path)
    assert "\n" not in str(why.value)


def test_two_agents_do_not_share_a_folder(tmp_path: Path) -> None:
    first = Spool(tmp_path)
    with pytest.raises(SpoolError, match="another agent"):
        Spool(tmp_path)
    first.close()
    Spool(tmp_path).close()


def test_the_oldest_messages_are_dropped_when_the_bytes_are_used_up(tmp_path: Path) -> None:
    limits = SpoolLimits(max_bytes=20_000, segment_bytes=2_000)
    spool = filled(tmp_path, 100, limits, size=1000)
    assert spool.disk_bytes <= 20_000
    left = spool.pending()
    assert left == list(range(100 - len(left), 100))
    assert spool.lost["full"] == 100 - len(left)
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) <= 20_000
    assert spool.read(0) is None
    assert spool.lost["disk"] == 0, "it was counted when it was dropped"


def test_a_small_spool_that_is_full_drops_a_part_of_itself(tmp_path: Path) -> None:
    spool = filled(tmp_path, 100, SpoolLimits(max_bytes=20_000), size=1000)
    assert 16 <= spool.left <= 20
    assert spool.left + spool.lost["full"] == 100


def test_the_number_of_messages_is_bounded_as_memory_is(tmp_path: Path) -> None:
    spool = filled(tmp_path, 100, SpoolLimits(max_messages=10, segment_bytes=200))
    assert spool.left <= 10
    assert spool.left + spool.lost["full"] == 100


def test_messages_grow_too_old(tmp_path: Path) -> None:
    limits = SpoolLimits(max_age_s=3600, segment_bytes=200)
    spool = filled(tmp_path, 20, limits)
    spool.append(frame(20), 3600 * NS + 10 * NS)
    assert 0 < spool.lost["aged"] <= 10
    assert spool.left + spool.lost["aged"] == 21


def test_disk_space_is_given_back_when_messages_are_done(tmp_path: Path) -> None:
    limits = SpoolLimits(empty_bytes=5_000)
    spool = Spool(tmp_path, limits)
    for number in range(200):
        assert spool.append(frame(number, 1000), 0) == number
        spool.done(number)
        assert spool.disk_bytes <= 7_000
    assert spool.left == 0
    spool.close()
    assert [each.name for each in tmp_path.iterdir()] == ["lock"]


def test_a_full_disk_costs_messages_and_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = filled(tmp_path, 2)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda file, raw, at: len(raw) // 2)
        assert spool.append(frame(2), 0) is None
    assert spool.lost["disk"] == 1
    assert spool.append(frame(3), 0) == 2
    assert [spool.read(number) for number in spool.pending()] == [frame(0), frame(1), frame(3)]
    assert after_a_crash(tmp_path).pending() == [0, 1, 2]
