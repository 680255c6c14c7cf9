"""Chunks of many partitions become whole seconds, in order, each once."""

from __future__ import annotations

import random
from itertools import permutations

import pyarrow as pa
import pytest
from builders.clusters import START_S, punctuation

from localizer.second_batch import DEFAULT, Assembler, SecondBatch
from schemas.wire.window_chunks import Header, Kind


def chunk(
    at: int, *, of: int = 0, partition: int = 0, part: int = 0, parts: int = 1, kind: Kind = "pane"
) -> tuple[Header, pa.RecordBatch]:
    """A chunk of second ``at`` in epoch ``of``; its one value tells them apart."""
    length = 1 if kind == "pane" else 30
    end_s = START_S + at + 1
    header = Header(kind, "f1", end_s - length, end_s, partition, of, part, parts)
    name = f"{kind}{at} p{partition} e{of} c{part}"
    return header, pa.RecordBatch.from_pydict({"name": [name]})


def names(frame: SecondBatch) -> list[str]:
    return sorted(b.column(0)[0].as_py() for b in (*frame.panes, *frame.windows))


class Join:
    def __init__(self) -> None:
        self.assembler = Assembler()
        self.frames: list[SecondBatch] = []

    def add(self, *chunks: tuple[Header, pa.RecordBatch]) -> Join:
        for header, batch in chunks:
            self.assembler.add(header, batch)
        return self

    def upto(
        self, at: int, partition: int = 0, *, idle: bool = False, returning: bool = False
    ) -> Join:
        """Everything before second ``at`` is closed in that partition."""
        header = punctuation(START_S + at, partition, idle=idle)
        self.assembler.punctuate(header._replace(returning=returning))
        self.frames += self.assembler.ready()
        return self

    @property
    def seconds(self) -> list[int]:
        return [frame.second - START_S for frame in self.frames]

    @property
    def said(self) -> list[list[str]]:
        return [names(frame) for frame in self.frames]


def test_a_second_leaves_when_its_partition_has_passed_it() -> None:
    join = Join().add(chunk(0))
    assert join.upto(0).seconds == []
    assert join.upto(1).said == [["pane0 p0 e0 c0"]]


def test_a_second_waits_for_the_slowest_partition() -> None:
    join = Join().add(chunk(0), chunk(0, partition=1)).upto(0, 0).upto(0, 1).upto(1, 0)
    assert join.seconds == []
    assert join.upto(1, 1).said == [["pane0 p0 e0 c0", "pane0 p1 e0 c0"]]


def test_an_idle_partition_is_not_waited_for() -> None:
    join = Join().add(chunk(0), chunk(0, partition=1)).upto(0, 0).upto(0, 1)
    join.add(chunk(1)).upto(2, 0)
    assert join.seconds == []
    assert join.upto(1, 1, idle=True).seconds == [0, 1]


def test_idle_partitions_are_waited_for_while_one_returns() -> None:
    join = Join().add(chunk(0), chunk(0, partition=1)).upto(1, 0, idle=True).upto(1, 1, idle=True)
    assert join.add(chunk(300)).upto(301, 0, returning=True).seconds == [0]
    join.add(chunk(300, partition=1)).upto(301, 1, returning=True)
    assert join.said[-1] == ["pane300 p0 e0 c0", "pane300 p1 e0 c0"]


def test_a_partition_that_does_not_return_is_waited_for_until_the_other_has() -> None:
    join = Join().add(chunk(0), chunk(0, partition=1)).upto(1, 0, idle=True).upto(1, 1, idle=True)
    join.add(chunk(300)).upto(301, 0, returning=True)
    assert join.upto(302, 0).said[-2:] == [["pane300 p0 e0 c0"], []]


def test_a_host_that_returns_holds_up_no_partition_that_was_never_silent() -> None:
    join = Join().add(*(chunk(0, partition=each) for each in range(3)))
    join.upto(1, 0).upto(1, 1, idle=True).upto(1, 2, idle=True)
    join.add(chunk(1)).upto(2, 0)
    assert join.seconds == [0, 1]
    join.add(chunk(2), chunk(2, partition=1)).upto(3, 1, returning=True).upto(3, 0)
    assert join.said[-1] == ["pane2 p0 e0 c0", "pane2 p1 e0 c0"]


def test_it_is_known_before_which_punctuations_complete_a_second() -> None:
    rng, returns = random.Random(4), random.Random(5)
    join, marks, found = Join().add(chunk(0)).upto(0).upto(1), [1, 1, 1], 0
    for _ in range(300):
        partition, idle, back = rng.randrange(3), rng.random() < 0.2, returns.random() < 0.1
        marks[partition] = at = marks[partition] + rng.randrange(3)
        header = punctuation(START_S + at, partition, idle=idle)._replace(returning=back)
        said = join.assembler.completes(header)
        before = len(join.seconds)
        join.upto(at, partition, idle=idle, returning=back)
        assert (len(join.seconds) > before) == said
        found += said
    assert 30 < found < 270


def test_the_last_watermarks_are_final_when_all_partitions_are_idle() -> None:
    join = Join().add(chunk(0), chunk(3)).upto(4, 0, idle=True)
    assert join.seconds == [0, 1, 2, 3]


def test_seconds_without_probes_are_batches_too() -> None:
    join = Join().add(chunk(0), chunk(3)).upto(4)
    assert join.said == [["pane0 p0 e0 c0"], [], [], ["pane3 p0 e0 c0"]]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_chunks_of_a_pane_may_come_in_any_order(order: tuple[int, ...]) -> None:
    join = Join().add(*(chunk(0, part=n, parts=3) for n in order)).upto(1)
    assert join.said == [[f"pane0 p0 e0 c{n}" for n in range(3)]]


def test_an_incomplete_pane_is_left_out() -> None:
    join = Join().add(chunk(0), chunk(1, part=0, parts=2), chunk(2)).upto(3)
    assert join.said == [["pane0 p0 e0 c0"], [], ["pane2 p0 e0 c0"]]


def test_the_first_complete_version_counts_and_repeats_are_counted() -> None:
    join = Join().add(chunk(0, of=1), chunk(0, of=2)).upto(1)
    assert join.said == [["pane0 p0 e1 c0"]]
    assert join.assembler.repeated == 1


def test_halves_of_two_epochs_are_not_one_pane() -> None:
    half, rest = chunk(0, of=1, part=0, parts=2), chunk(0, of=2, part=1, parts=2)
    assert Join().add(half, rest).add(chunk(1)).upto(2).said == [["pane1 p0 e0 c0"]]


def test_a_new_owner_completes_the_pane_that_the_old_one_began() -> None:
    join = Join().add(chunk(0, of=1, part=0, parts=2))
    join.add(*(chunk(0, of=2, part=n, parts=2) for n in (0, 1))).upto(1)
    assert join.said == [["pane0 p0 e2 c0", "pane0 p0 e2 c1"]]


def test_a_new_owner_that_reads_old_records_again_changes_nothing() -> None:
    join = Join().add(*(chunk(n, of=1) for n in range(6))).upto(6)
    join.add(*(chunk(n, of=2) for n in range(2, 9))).upto(9)
    assert join.seconds == list(range(9))
    assert join.said[5:7] == [["pane5 p0 e1 c0"], ["pane6 p0 e2 c0"]]
    assert join.assembler.repeated == 4


def test_a_watermark_never_runs_back() -> None:
    join = Join().add(*(chunk(n) for n in range(6))).upto(6).upto(2)
    assert join.add(chunk(6)).upto(7).seconds == list(range(7))


def test_a_window_comes_with_the_second_it_ends_with() -> None:
    join = Join().add(chunk(3), chunk(4), chunk(4, kind="window"), chunk(5)).upto(6)
    assert join.said == [
        ["pane3 p0 e0 c0"], ["pane4 p0 e0 c0", "window4 p0 e0 c0"], ["pane5 p0 e0 c0"],
    ]  # fmt: skip


def test_a_chunk_after_its_second_was_judged_is_counted() -> None:
    join = Join().add(chunk(3), chunk(4), chunk(5)).upto(5)
    join.add(chunk(4, partition=1), chunk(4, kind="window")).upto(6)
    assert join.said == [["pane3 p0 e0 c0"], ["pane4 p0 e0 c0"], ["pane5 p0 e0 c0"]]
    assert join.assembler.repeated == 2


def test_a_hole_longer_than_the_limit_is_a_jump_and_nothing_is_judged_in_it() -> None:
    far = DEFAULT.jump_s + 50
    join = Join().add(chunk(0), chunk(far), chunk(far + 1)).upto(far + 2)
    assert join.seconds == [0, far, far + 1]
    assert [frame.jumped for frame in join.frames] == [False, True, False]


def test_a_hole_up_to_the_limit_is_judged_second_by_second() -> None:
    join = Join().add(chunk(0), chunk(DEFAULT.jump_s)).upto(DEFAULT.jump_s + 1)
    assert join.seconds == list(range(DEFAULT.jump_s + 1))
    assert not any(frame.jumped for frame in join.frames)


def test_the_end_of_the_input_ends_the_waiting() -> None:
    join = Join().add(chunk(0), chunk(0, partition=1)).upto(0, 0).upto(0, 1)
    frames = list(join.assembler.finish())
    assert [frame.second - START_S for frame in frames] == [0]
    assert list(Assembler().finish()) == []


def test_any_interleaving_of_partitions_gives_the_same_batches() -> None:
    def lane(partition: int) -> list[tuple[Header, pa.RecordBatch | None]]:
        out: list[tuple[Header, pa.RecordBatch | None]] = []
        for at in range(8):
            parts = 1 + (at + partition) % 2
            out += [chunk(at, partition=partition, part=n, parts=parts) for n in range(parts)]
            out.append((punctuation(START_S + at + 1, partition), None))
        return out

    def joined(seed: int) -> list[list[str]]:
        rng, join = random.Random(seed), Join()
        lanes = [lane(n) for n in range(3)]
        for n in range(3):  # all are known before the first second is judged
            join.upto(0, n)
        while any(lanes):
            header, batch = rng.choice([one for one in lanes if one]).pop(0)
            if batch is not None:
                join.add((header, batch))
            else:
                join.assembler.punctuate(header)
                join.frames += join.assembler.ready()
        return join.said

    assert all(joined(seed) == joined(0) for seed in range(1, 30))
    assert len(joined(0)) == 8
