"""Files of ping records -> validated batches, and a dead letter for each invalid line.

The format is recognized by the content: CSV (with or without a BOM), NDJSON, a JSON array, an Arrow
stream, Parquet, or what an agent's ``--publish file:`` writes, with its heartbeats; each but
Parquet also compressed by gzip or Zstandard. Text is read in blocks of whole lines, so that neither
a large file nor an endless line needs more memory than a block.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Final, cast

import msgspec
import pyarrow as pa
from pyarrow import parquet

from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.limits import LIMITS
from schemas.wire import codecs
from schemas.wire.decoded import CodecError, Decoded
from schemas.wire.ping_columns import no_rows
from schemas.wire.rejects import Reject
from schemas.wire.text.csv_rows import header_names
from skeletonhunter.diagnosis import agent_output
from skeletonhunter.diagnosis.files import compressed, loss_unit
from skeletonhunter.diagnosis.files.column_map import ColumnMap, ColumnMissing, csv_names
from skeletonhunter.errors import BadInput

#: A block of text ends with the line that reaches this size [bytes].
BLOCK_BYTES: Final = 4 * 1024 * 1024
#: Longest line of text [bytes]; a longer one is a dead letter.
LONGEST_LINE: Final = 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An invalid record: its place, the reason, and the bytes."""

    file: str
    line: int  # 1-based; for binary formats the row
    column: str | None
    reason: str
    raw: bytes

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Block:
    """Some records of a file, and heartbeats where the file has them too.

    batch  in the schema of ``schemas.wire.codecs``
    names  columns of the file, as it names them; of JSON those of its first record
    """

    batch: pa.RecordBatch
    dead_letters: list[DeadLetter]
    heartbeats: list[Heartbeat] = field(default_factory=list)
    names: tuple[str, ...] = ()


def read(path: str, columns: ColumnMap | None = None) -> Iterator[Block]:
    """All records of a file, or of standard input when path is ``-``; raises BadInput, also for
    a loss_rate in percent.

    columns  how the file names them, where it does not as ping records do
    """
    name = "stdin" if path == "-" else path
    try:
        with _opened(path) as file:
            for block in _read(file, name, columns):
                loss_unit.check(name, (each.reason for each in block.dead_letters), columns)
                yield block
    except OSError as why:
        raise BadInput(f"{path}: {why.strerror or why}; give a readable file") from why
    except (CodecError, ColumnMissing) as why:
        raise BadInput(f"{path}: {why}") from why


def _opened(path: str) -> AbstractContextManager[BufferedReader]:
    if path == "-":
        return nullcontext(cast(BufferedReader, sys.stdin.buffer))
    return Path(path).open("rb")


def _read(file: BufferedReader, name: str, columns: ColumnMap | None) -> Iterator[Block]:
    file = compressed.plain(file, name)
    start = file.peek(64)
    if start.startswith(_BOM):
        file.read(len(_BOM))
        start = start[len(_BOM) :]
    if not start.strip():
        raise BadInput(f"{name}: no ping records; the file is empty")
    if start[:4] == b"PAR1":
        yield from _parquet(file, name, columns)
    elif start[:4] == b"\xff\xff\xff\xff":
        yield from _arrow(file, name, columns)
    elif start.lstrip()[:1] == b"[":
        yield from _json_array(_all(file, name), name, columns)
    elif agent_output.begins_like(start):
        yield from _messages(file, name)
    else:
        yield from _text(file, name, columns, is_json=start.lstrip()[:1] == b"{")


def _all(file: BufferedReader, name: str) -> bytes:
    raw = file.read(LIMITS.message_bytes + 1)
    if len(raw) > LIMITS.message_bytes:
        raise BadInput(
            f"{name}: a JSON array may have {LIMITS.message_bytes} B; "
            "use Parquet, Arrow, NDJSON or CSV for more"
        )
    return raw


def _json_array(raw: bytes, name: str, columns: ColumnMap | None) -> Iterator[Block]:
    try:
        rows = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
        raise BadInput(f"{name}: not a JSON array: {' '.join(str(why).split())[:200]}") from why
    names = _keys(bytes(rows[0])) if rows else ()
    if columns is None:
        yield _block(codecs.decode(raw, topics.JSON), name, 1, names)
        return
    for at in range(0, len(rows), LIMITS.rows):
        lines = columns.json_lines(bytes(row) for row in rows[at : at + LIMITS.rows])
        yield _block(codecs.decode(lines, topics.NDJSON), name, at + 1, names)


def _arrow(file: BufferedReader, name: str, columns: ColumnMap | None) -> Iterator[Block]:
    """Batch by batch, each fully validated before use: a corrupt one would crash the process."""
    row = 1
    try:
        with pa.ipc.open_stream(file) as reader:
            names = tuple(reader.schema.names)  # one that is no UTF-8 shows only when asked for
            for batch in reader:
                batch.validate(full=True)
                for at in range(0, batch.num_rows, LIMITS.rows):
                    part = batch.slice(at, LIMITS.rows)
                    decoded = codecs.conform(columns.batch(part) if columns else part)
                    letters = [_letter(name, row, each) for each in decoded.rejects]
                    yield Block(decoded.batch, letters, names=names)
                    row += min(LIMITS.rows, batch.num_rows - at)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, MemoryError) as why:
        reason = " ".join(str(why).split())[:200] or "a length in it is wrong"
        raise BadInput(f"{name}: corrupt Arrow stream: {reason}") from why


def _parquet(file: BufferedReader, name: str, columns: ColumnMap | None) -> Iterator[Block]:
    if not file.seekable():
        raise BadInput(
            f"{name}: Parquet cannot be read from a pipe or a compressed file; give the file itself"
        )
    row = 1
    try:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=LIMITS.rows):
            decoded = codecs.conform(columns.batch(batch) if columns else batch)
            letters = [_letter(name, row, each) for each in decoded.rejects]
            yield Block(decoded.batch, letters, names=tuple(batch.schema.names))
            row += batch.num_rows
    except pa.ArrowException as why:
        raise BadInput(f"{name}: corrupt Parquet: {' '.join(str(why).split())[:200]}") from why


def _text(
    file: BufferedReader, name: str, columns: ColumnMap | None, *, is_json: bool
) -> Iterator[Block]:
    header: bytes | None = None
    names: tuple[str, ...] = ()
    for number, lines in _blocks(file):
        if lines is None:
            reason = f"line is longer than {LONGEST_LINE} B"
            if header is None and not is_json:
                raise BadInput(f"{name}:{number}: {reason}; it is neither CSV nor NDJSON")
            yield Block(no_rows(), [DeadLetter(name, number, None, reason, b"")])
        elif is_json:
            if not names:
                _check_kind(lines[0], name)
                names = _keys(lines[0])
            mapped = columns.json_lines(lines) if columns else b"".join(lines)
            yield _block(codecs.decode(mapped, topics.NDJSON), name, number, names)
        else:
            if header is None:
                header, lines, number = lines[0], lines[1:], number + 1
                names = tuple(csv_names(header) if columns else header_names(header))
            if lines and columns:
                mapped, wrong = columns.csv_lines(header, lines)
                block = _block(codecs.decode(mapped, topics.NDJSON), name, number)
                letters = [DeadLetter(name, number + at, None, why, lines[at]) for at, why in wrong]
                yield Block(block.batch, [*block.dead_letters, *letters], names=names)
            elif lines:
                found = codecs.decode_csv(b"".join(lines), header=header)
                yield _block(found, name, number, names)


def _messages(file: BufferedReader, name: str) -> Iterator[Block]:
    """Messages of an agent, one a line. An invalid line is one dead letter, whatever it held."""
    for number, lines in _blocks(file):
        if lines is None:
            reason = f"line is longer than {LONGEST_LINE} B"
            yield Block(no_rows(), [DeadLetter(name, number, None, reason, b"")])
            continue
        beats: list[Heartbeat] = []
        for line, raw in enumerate(lines, number):
            if not raw.strip():
                continue
            try:
                found = agent_output.read(raw)
            except agent_output.MessageError as why:
                yield Block(no_rows(), [DeadLetter(name, line, None, str(why), raw)])
                continue
            if isinstance(found, Heartbeat):
                beats.append(found)
            else:
                dead = [
                    DeadLetter(name, line, each.column, f"record {each.row + 1}: {each.reason}",
                               each.raw)
                    for each in found.rejects
                ]  # fmt: skip
                yield Block(found.batch, dead)
        yield Block(no_rows(), [], beats)


def _block(decoded: Decoded, name: str, first_line: int, names: tuple[str, ...] = ()) -> Block:
    letters = [_letter(name, first_line, reject) for reject in decoded.rejects]
    return Block(decoded.batch, letters, names=names)


def _keys(line: bytes) -> tuple[str, ...]:
    """Names of a JSON object; none where it is no object, which its dead letter says."""
    try:
        return tuple(msgspec.json.decode(line, type=dict[str, msgspec.Raw]))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ()


def _check_kind(line: bytes, name: str) -> None:
    """Refuse a file whose first line is a heartbeat; raises BadInput."""
    try:
        heartbeat.decode(line)
    except ValueError:  # a ping record, or a dead letter
        return
    raise BadInput(f"{name}: these are heartbeats, not ping records: give --heartbeats {name}")


def _letter(name: str, first_line: int, reject: Reject) -> DeadLetter:
    line = first_line + reject.row
    return DeadLetter(name, line, reject.column, reject.reason, reject.raw)


def _blocks(file: BufferedReader) -> Iterator[tuple[int, list[bytes] | None]]:
    """(number of the first line, whole lines); None stands for one line over the limit."""
    number, lines, size = 1, list[bytes](), 0
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            if lines:
                yield number, lines
            number, lines, size = number + len(lines), [], 0
            while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
            yield number, None
            number += 1
            continue
        lines.append(line)
        size += len(line)
        if size >= BLOCK_BYTES or len(lines) >= LIMITS.rows:
            yield number, lines
            number, lines, size = number + len(lines), [], 0
    if lines:
        yield number, lines
