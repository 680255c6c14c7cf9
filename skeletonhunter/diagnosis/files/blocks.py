"""Records that were read of a file, and the invalid ones with their place."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from schemas.documents.heartbeat import Heartbeat
from schemas.wire.decoded import Decoded
from schemas.wire.rejects import Reject


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

    @classmethod
    def of(cls, decoded: Decoded, name: str, first_line: int, names: tuple[str, ...] = ()) -> Block:
        """What was decoded of a file's lines, or rows, from one on."""
        letters = [letter(name, first_line, reject) for reject in decoded.rejects]
        return cls(decoded.batch, letters, names=names)


def letter(name: str, first_line: int, reject: Reject) -> DeadLetter:
    """The dead letter of a record, by the line or row of the first one decoded."""
    line = first_line + reject.row
    return DeadLetter(name, line, reject.column, reject.reason, reject.raw)
