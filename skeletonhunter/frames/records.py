"""Ping records <-> data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike, fspath
from typing import TypeAlias, cast

import pandas as pd
import pyarrow as pa

from schemas.limits import LIMITS
from schemas.wire import codecs
from schemas.wire.decoded import CodecError
from schemas.wire.ping_columns import concat, no_rows
from skeletonhunter.diagnosis import ping_files
from skeletonhunter.diagnosis.files import column_map, loss_unit, names
from skeletonhunter.diagnosis.files.blocks import Block, DeadLetter
from skeletonhunter.diagnosis.files.column_map import ColumnMap, ColumnMissing
from skeletonhunter.errors import BadInput

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
    many: list[object] = [paths] if isinstance(paths, str | PathLike) else _listed(paths)
    if wrong := [each for each in many if not isinstance(each, str | PathLike)]:
        kind = type(wrong[0]).__name__
        raise BadInput(
            f"records are neither a frame, an Arrow table, nor names of files, but {kind}; "
            "pandas.DataFrame(records) makes a frame of rows"
        )
    if not many:
        raise BadInput("records: an empty list of files; give one name at least")
    for name in names.expanded([fspath(cast(str, each)) for each in many]):
        yield from ping_files.read(name, columns)


def frame_blocks(records: pd.DataFrame | pa.Table, columns: ColumnMap | None) -> Iterator[Block]:
    """Blocks of records in memory, checked as those of files are; raises BadInput."""
    done = 0
    for batch in _table(records).to_batches(max_chunksize=LIMITS.rows):
        try:
            decoded = codecs.conform(columns.batch(batch) if columns else batch)
        except (CodecError, ColumnMissing) as why:
            raise BadInput(
                f"frame: {why}; columns={{'their_name': 'our_name'}} renames columns, and "
                "schemas/documents/ping.py has ours"
            ) from why
        letters = [
            DeadLetter("frame", done + each.row, each.column, each.reason, each.raw)
            for each in decoded.rejects
        ]
        loss_unit.check("frame", (each.reason for each in letters), columns)
        done += batch.num_rows
        yield Block(decoded.batch, letters, names=tuple(batch.schema.names))


def _listed(paths: object) -> list[object]:
    return list(paths) if isinstance(paths, Iterable) else [paths]


def _table(records: pd.DataFrame | pa.Table) -> pa.Table:
    if not isinstance(records, pd.DataFrame):
        return records
    try:
        return pa.Table.from_pandas(records, preserve_index=False)
    except pa.ArrowException as why:  # values of several types in one column
        reason = " ".join(str(part) for part in why.args)
        raise BadInput(
            f"frame: a column has values of several types: {' '.join(reason.split())[:200]}"
        ) from why


def pairs(columns: Mapping[str, str] | None) -> list[str]:
    """As ``--map`` has them."""
    return [f"{theirs}={ours}" for theirs, ours in (columns or {}).items()]
