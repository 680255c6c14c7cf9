"""What this release writes to the topics, as files for releases to come.

``PYTHONPATH=.:tests python -m builders.schemas.release_files`` writes those of the version in
pyproject.toml into tests/data/releases, once: what a release has written does not change. Of a
version that is not released yet, delete the folder to write it anew.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from builders.schemas.documents import EXAMPLES
from builders.schemas.record_formats import BARE, FULL
from builders.streams.sink_messages import COVERAGE
from probers.publishing.encoding.encode import to_arrow, to_ndjson
from schemas.wire import window_chunks
from schemas.wire.window_chunks import Header

ROOT: Final = Path(__file__).parents[3]
RELEASES: Final = ROOT / "tests" / "data" / "releases"
SCHEMAS: Final = {
    "pane": window_chunks.PANE, "window": window_chunks.WINDOW, "routes": window_chunks.ROUTES,
    "heartbeats": window_chunks.HEARTBEATS,
}  # fmt: skip
RECORDS: Final = [FULL, {**BARE, "dial": "timeout", "src_port": 50_001}]


def version() -> str:
    """The version of this tree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def chunk(kind: str) -> pa.RecordBatch:
    """Two rows of a chunk, no two columns of which are equal."""
    columns = []
    for at, field in enumerate(SCHEMAS[kind]):
        if pa.types.is_dictionary(field.type) or pa.types.is_string(field.type):
            texts = pa.array([f"{field.name}-1", f"{field.name}-2"])
            columns.append(
                texts.dictionary_encode().cast(field.type)
                if pa.types.is_dictionary(field.type) else texts
            )  # fmt: skip
        elif pa.types.is_list(field.type):
            columns.append(pa.array([["asw1", None], []], field.type))
        elif pa.types.is_boolean(field.type):
            columns.append(pa.array([True, False]))
        else:
            columns.append(pa.array([at + 1, at + 100]).cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMAS[kind])


def earlier(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A chunk without the columns that the first release did not write."""
    return batch.select([n for n in batch.schema.names if n not in window_chunks.DEFAULTS])


def later(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A chunk with two columns that no release has yet, before and after the others."""
    deep = pa.array([[number] for number in range(batch.num_rows)], pa.list_(pa.int64()))
    text = pa.array(["x"] * batch.num_rows, pa.string())
    return pa.RecordBatch.from_arrays(
        [deep, *batch.columns[::-1], text],
        names=["deep_of_the_future", *batch.schema.names[::-1], "of_the_future"],
    )


def files() -> dict[str, bytes]:
    """Name -> bytes. Arrow messages have their rows beside them, as JSON."""
    found = {
        f"document.{name}.json": msgspec.json.encode(each)
        for name, each in {**EXAMPLES, "coverage": COVERAGE}.items()
    }
    found |= {"records.arrow": to_arrow(RECORDS), "records.ndjson": to_ndjson(RECORDS),
              "records.rows.json": json.dumps(RECORDS).encode()}  # fmt: skip
    for kind in SCHEMAS:
        batch = chunk(kind)
        found[f"windows.{kind}.arrow"] = window_chunks.encode(batch)
        found[f"windows.{kind}.rows.json"] = json.dumps(batch.to_pylist()).encode()
    header = Header("pane", "f1", 1_733_989_200, 1_733_989_201, 3, 7, 1, 2, 1_733_989_199_500)
    headers: dict[str, Any] = {name: value.decode() for name, value in header.to_kafka()}
    return found | {"windows.headers.json": json.dumps(headers).encode()}


def main() -> int:
    """Writes the folder of this version; returns the exit code."""
    folder = RELEASES / version()
    if folder.exists():
        print(f"{folder} is there already")
        return 1
    folder.mkdir(parents=True)
    for name, raw in files().items():
        (folder / name).write_bytes(raw)
    return 0


if __name__ == "__main__":
    sys.exit(main())
