"""gzip and Zstandard -> plain bytes, expanded piece by piece and no further than a bound."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from schemas.parameters.parameter import parameter
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MAGIC: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True, slots=True)
class Expansion:
    """How far a compressed file may expand.

    free_bytes  that a file of any size may expand to
    ratio       plain bytes for each compressed byte beyond that
    """

    free_bytes: int = parameter(
        64 * 1024 * 1024, unit="B", source="chosen: 100,000 records of NDJSON take as much"
    )
    ratio: int = parameter(
        200, unit="1",
        source="chosen: NDJSON of a simulated cluster shrinks 20 times by gzip, 40 by zstd -19",
    )  # fmt: skip


DEFAULT: Final = Expansion()


def plain(file: io.BufferedReader, name: str, *, limits: Expansion = DEFAULT) -> io.BufferedReader:
    """The file itself, or what it expands to where it is compressed; told by its content."""
    start = file.peek(4)
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return io.BufferedReader(_Expanding(file, name, kind, limits), 1024 * 1024)
    return file


class _Counted(io.RawIOBase):
    """A file that counts the bytes which are read of it."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self.bytes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.bytes += len(data)
        return data


class _Expanding(io.RawIOBase):
    """Plain bytes of a compressed file; raises BadInput for a corrupt one or one over the bound."""

    def __init__(self, file: io.BufferedReader, name: str, kind: str, limits: Expansion) -> None:
        self._compressed = _Counted(file)
        source = pa.PythonFile(self._compressed, mode="r")
        self._stream = pa.CompressedInputStream(source, kind)
        self._name = name
        self._kind = kind
        self._limits = limits
        self._bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            data: bytes = self._stream.read(len(view))
        except (OSError, pa.ArrowException) as why:
            reason = " ".join(str(why).split())[:200]
            raise BadInput(f"{self._name}: corrupt {self._kind}: {reason}") from why
        self._bytes += len(data)
        allowed = self._limits.free_bytes + self._limits.ratio * self._compressed.bytes
        if self._bytes > allowed:
            raise BadInput(
                f"{self._name}: expands to more than {self._limits.ratio} times its size, as no "
                "file of ping records does; expand it yourself if it is one"
            )
        view[: len(data)] = data
        return len(data)
