"""Ping records <-> data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike, fspath
from typing import TypeAlias

import pandas as pd
import pyarrow as pa

from schemas.limits import LIMITS
from schemas.wire import codecs
from schemas.wire.ping_columns import concat, no_rows
from skeletonhunter.diagnosis import ping_files
from skeletonhunter.diagnosis.files import column_map, names
from skeletonhunter.diagnosis.files.column_map import ColumnMap
from skeletonhunter.diagnosis.ping_files import Block, DeadLetter

Paths: TypeAlias = str | PathLike[str] | Iterable[str | PathLike[str]]
_TIMES = ("ping_time", "task_start_time")


def read_pings(paths: Paths, *, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Ping records of files as a frame; ``ping_time`` is a time in UTC.

    paths    one or many, globs included, in every format that ``skeletonhunter diagnose`` reads
    columns  their name -> name in the ping record, where the files have other names
    Invalid records are left out; ``frame.attrs["dead_letters"]`` has one text for each.
    Raises BadInput for a file that cannot be read.

    >>> read_pings("tests/data/samples.csv")[["src_ip", "dst_ip", "latency"]].shape
    (3, 3)
    """
    batches, letters = [], list[DeadLetter]()
    for block in file_blocks(paths, column_map.read(None, pairs(columns))):
        letters += block.dead_letters
        batches.append(block.batch)
    frame: pd.DataFrame = (concat(batches) if batches else no_rows()).to_pandas()
    for name in _TIMES:
        if name in frame:
            frame[name] = pd.to_datetime(frame[name], unit="ns", utc=True)
    frame.attrs["dead_letters"] = [str(letter) for letter in letters]
    return frame


def file_blocks(paths: Paths, columns: ColumnMap | None) -> Iterator[Block]:
    """Blocks of records of files; raises BadInput."""
    many = [paths] if isinstance(paths, str | PathLike) else list(paths)
    for name in names.expanded([fspath(each) for each in many]):
        yield from ping_files.read(name, columns)


def frame_blocks(records: pd.DataFrame | pa.Table, columns: ColumnMap | None) -> Iterator[Block]:
    """Blocks of records in memory, checked as those of files are; raises CodecError."""
    table = records
    if isinstance(records, pd.DataFrame):
        table = pa.Table.from_pandas(records, preserve_index=False)
    done = 0
    for batch in table.to_batches(max_chunksize=LIMITS.rows):
        decoded = codecs.conform(columns.batch(batch) if columns else batch)
        letters = [
            DeadLetter("frame", done + each.row, each.column, each.reason, each.raw)
            for each in decoded.rejects
        ]
        done += batch.num_rows
        yield Block(decoded.batch, letters)


def pairs(columns: Mapping[str, str] | None) -> list[str]:
    """As ``--map`` has them."""
    return [f"{theirs}={ours}" for theirs, ours in (columns or {}).items()]
