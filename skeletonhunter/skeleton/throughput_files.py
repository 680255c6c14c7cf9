"""Reads files of throughput: the columns of ``schemas.documents.throughput``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemas.documents.throughput import COLUMNS
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: A day: longer stretches are read in parts, and wrong times would take all memory.
_LONGEST_S: Final = 86_400
_NS: Final = 1_000_000_000


def read(path: Path, fabric: str | None = None) -> tuple[str, pd.DataFrame]:
    """(fabric, its samples) of a Parquet, Arrow stream or CSV file; raises BadInput."""
    import pyarrow as pa

    try:
        table = _table(path)
    except OSError as why:
        reason = why.strerror or "not a readable table"
        raise BadInput(f"{path}: {reason}; give Parquet, an Arrow stream or CSV") from why
    except (pa.ArrowException, UnicodeDecodeError) as why:
        raise BadInput(f"{path}: {why}; give Parquet, an Arrow stream or CSV") from why
    names = {column.name for column in COLUMNS}
    if missing := sorted(names - {"fabric"} - set(table.column_names)):
        raise BadInput(
            f"{path}: no column {', '.join(missing)}; it has {', '.join(table.column_names)}"
        )
    frame: pd.DataFrame = table.select(
        [column.name for column in COLUMNS if column.name in table.column_names]
    ).to_pandas()
    if "fabric" not in frame:
        frame["fabric"] = fabric or "default"
    fabrics = sorted(frame["fabric"].astype(str).unique())
    if fabric is None and len(fabrics) > 1:
        raise BadInput(
            f"{path}: throughput of {len(fabrics)} fabrics; choose one: --fabric {fabrics[0]}"
        )
    name = fabric or (fabrics[0] if fabrics else "default")
    frame = frame[frame["fabric"].astype(str) == name]
    if not len(frame):
        raise BadInput(f"{path}: no throughput of fabric {name!r}; it has {', '.join(fabrics)}")
    _check(path, frame)
    return name, frame


def _table(path: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PAR1":
        return parquet.read_table(path)
    if magic in (b"\xff\xff\xff\xff", b"ARRO"):
        with path.open("rb") as file:
            opened = pa.ipc.open_file(file) if magic == b"ARRO" else pa.ipc.open_stream(file)
            return opened.read_all()
    texts = dict.fromkeys(("fabric", "node_sn", "real_ip"), pa.string())
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=texts))


def _check(path: Path, frame: pd.DataFrame) -> None:
    for name in ("time", "tx_bytes", "rx_bytes"):
        if frame[name].dtype.kind not in "iuf" or frame[name].isna().any():
            raise BadInput(f"{path}: column {name} holds what is no number; correct its rows")
    if (frame[["tx_bytes", "rx_bytes"]].to_numpy() < 0).any():
        raise BadInput(f"{path}: negative bytes; give bytes per second, not counters that wrap")
    spans = (int(frame["time"].max()) - int(frame["time"].min())) / _NS
    if spans > _LONGEST_S:
        raise BadInput(
            f"{path}: times span {spans:.0f} s; give at most {_LONGEST_S} s, in ns since the epoch"
        )
    hosts = frame.drop_duplicates(["real_ip", "node_sn"])["real_ip"]
    if hosts.duplicated().any():
        twice = str(hosts[hosts.duplicated()].iloc[0])
        raise BadInput(f"{path}: rnic {twice} is on two hosts; an rnic belongs to one host")
