"""Records in a frame or in files -> incidents."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import pandas as pd
import pyarrow as pa

from localizer.options import Options
from skeletonhunter.arguments import known_strategy
from skeletonhunter.diagnosis import inputs, run
from skeletonhunter.diagnosis.files import column_map
from skeletonhunter.diagnosis.files.time_span import span
from skeletonhunter.diagnosis.inputs import Documents
from skeletonhunter.errors import BadInput
from skeletonhunter.frames.incidents import Incidents
from skeletonhunter.frames.records import Paths, file_blocks, frame_blocks, pairs

File: TypeAlias = str | PathLike[str] | None


def diagnose(
    records: pd.DataFrame | pa.Table | Paths,
    *,
    topology: File = None,
    heartbeats: File = None,
    placement: File = None,
    maintenance: File = None,
    columns: Mapping[str, str] | None = None,
    since: str | None = None,
    until: str | None = None,
    strategy: str = "hypothesis",
) -> Incidents:
    """Name the culprits in ping records, as ``skeletonhunter diagnose`` does.

    records     a frame or an Arrow table of records, or files of them (globs included)
    topology    file of the fabric; without it, it is learnt from the records
    heartbeats, placement, maintenance  files of these documents, NDJSON
    columns     their name -> name in the ping record, where records have other names
    since, until  part of the time that is judged; UTC without a zone
    strategy    how culprits are found (``skeletonhunter params`` has all figures)
    Raises BadInput (of ``skeletonhunter.errors``) for what cannot be used, and where nothing could
    be judged, as the command exits with 2.

    >>> diagnose("tests/data/samples.csv").enough      # three records are too few
    False
    """
    options = Options(strategy=known_strategy(strategy, "strategy"))
    mapped = column_map.read(None, pairs(columns))
    documents = Documents(*map(_path, (topology, heartbeats, placement, maintenance)))
    if isinstance(records, pd.DataFrame | pa.Table):
        blocks = frame_blocks(records, mapped)
    else:
        blocks = file_blocks(records, mapped)
    given = inputs.collect(blocks, documents, columns=mapped, span=span(since, until))
    found = Incidents(given, run.diagnose(given, options))
    if found.nothing is not None:  # an empty list would read as "the network is innocent"
        raise BadInput(found.nothing)
    return found


def _path(file: File) -> Path | None:
    return None if file is None else Path(file)
