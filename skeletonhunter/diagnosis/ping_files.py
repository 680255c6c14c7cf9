"""Files of ping records -> validated batches, and a dead letter for each invalid line.

The format is recognized by the content: CSV (with or without a BOM), NDJSON, a JSON array, an Arrow
stream or file (Feather), Parquet, or what an agent's ``--publish file:`` writes, with its
heartbeats; each but Parquet and Arrow files also compressed by gzip or Zstandard. Text is read in
blocks of whole lines, so that neither a large file nor an endless line needs more memory than that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from io import BufferedReader
from pathlib import Path
from typing import Final, cast

import msgspec

from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.limits import LIMITS
from schemas.wire import codecs
from schemas.wire.decoded import CodecError
from schemas.wire.ping_columns import no_rows
from schemas.wire.text.csv_rows import header_names
from skeletonhunter.diagnosis import agent_output
from skeletonhunter.diagnosis.files import columnar, compressed, loss_unit, unread
from skeletonhunter.diagnosis.files.blocks import Block, DeadLetter
from skeletonhunter.diagnosis.files.column_map import ColumnMap, ColumnMissing, csv_names
from skeletonhunter.errors import BadInput

#: A block of text ends with the line that reaches this size [bytes].
BLOCK_BYTES: Final = 4 * 1024 * 1024
#: Longest line of text [bytes]; a longer one is a dead letter.
LONGEST_LINE: Final = 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"
_ARROW_STREAM: Final = b"\xff\xff\xff\xff"
_ARROW_FILE: Final = b"ARROW1"


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
    unread.check(start, name)
    if start.startswith(_BOM):
        file.read(len(_BOM))
        start = start[len(_BOM) :]
    if not start.strip():
        raise BadInput(f"{name}: no ping records; the file is empty")
    if start[:4] == b"PAR1":
        yield from columnar.parquet(file, name, columns)
    elif start.startswith((_ARROW_STREAM, _ARROW_FILE)):
        yield from columnar.arrow(file, name, columns, is_file=start.startswith(_ARROW_FILE))
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
        yield Block.of(codecs.decode(raw, topics.JSON), name, 1, names)
        return
    for at in range(0, len(rows), LIMITS.rows):
        lines = columns.json_lines(bytes(row) for row in rows[at : at + LIMITS.rows])
        yield Block.of(codecs.decode(lines, topics.NDJSON), name, at + 1, names)


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
            yield Block.of(codecs.decode(mapped, topics.NDJSON), name, number, names)
        else:
            if header is None:
                unread.check_line_ends(lines[0], name)
                header, lines, number = lines[0], lines[1:], number + 1
                names = tuple(csv_names(header) if columns else header_names(header))
            if lines and columns:
                mapped, wrong = columns.csv_lines(header, lines)
                block = Block.of(codecs.decode(mapped, topics.NDJSON), name, number)
                letters = [DeadLetter(name, number + at, None, why, lines[at]) for at, why in wrong]
                yield Block(block.batch, [*block.dead_letters, *letters], names=names)
            elif lines:
                found = codecs.decode_csv(b"".join(lines), header=header)
                yield Block.of(found, name, number, names)


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
