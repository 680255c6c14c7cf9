"""Kinds of files that are not read -> one line that says which, and what to do."""

from __future__ import annotations

from typing import Final

from skeletonhunter.errors import BadInput

#: First bytes -> kind, and what makes a file of it that is read.
_KINDS: Final = {
    b"PK\x03\x04": ("a ZIP archive, or a workbook", "unpack it, or export it as CSV"),
    b"BZh": ("compressed by bzip2", "expand it with bunzip2; gzip and Zstandard are read"),
    b"\xfd7zXZ": ("compressed by xz", "expand it with unxz; gzip and Zstandard are read"),
    b"\xff\xfe": ("UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"),
    b"ORC": ("an ORC file", "write it as Parquet"),
    b"\x89HDF": ("an HDF5 file", "write it as Parquet"),
    b"SQLite format 3": ("an SQLite database", "export the table as CSV"),
}


def check(start: bytes, name: str) -> None:
    """Refuse a file by its first bytes; raises BadInput."""
    for magic, (kind, remedy) in _KINDS.items():
        if start.startswith(magic):
            raise BadInput(f"{name}: this is {kind}; {remedy}")


def check_line_ends(line: bytes, name: str) -> None:
    """Refuse text whose lines end in a carriage return alone; raises BadInput.

    line  the first, which holds all others then
    """
    if b"\r" in line.rstrip(b"\r\n"):
        raise BadInput(
            f"{name}: lines end in a carriage return (CR) alone; convert it: tr '\\r' '\\n'"
        )
