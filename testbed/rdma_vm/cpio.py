"""Archives in the format that the kernel unpacks as its first root file system ("newc"). Pure.

Written here because modes, owners and device nodes of a root file system can then be set without
root, and without a second copy of 60 MB on disk.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, directory or symbolic link, owned by root.

    path   without a leading slash
    mode   type and permissions as in stat(2); data is a link's target
    mtime  [s]; Python's compiled files are only used when it is their source's
    """

    path: str
    mode: int
    data: bytes = b""
    mtime: int = 0


def file(path: str, data: bytes, *, executable: bool = False, mtime: int = 0) -> Entry:
    """A regular file."""
    return Entry(path, stat.S_IFREG | (0o755 if executable else 0o644), data, mtime)


def symlink(path: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(path, stat.S_IFLNK | 0o777, target.encode())


def directory(path: str) -> Entry:
    """A directory; those above files are made by ``pack`` itself."""
    return Entry(path, stat.S_IFDIR | 0o755)


def pack(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The archive in pieces. Parents come before their children; the first of two entries of one
    path counts."""
    known: set[str] = set()
    inode = 0
    for entry in entries:
        parents = [str(parent) for parent in PurePosixPath(entry.path).parents][-2::-1]
        for one in (*(directory(parent) for parent in parents), entry):
            if one.path not in known:
                known.add(one.path)
                inode += 1
                yield from _member(one, inode)
    yield from _member(Entry("TRAILER!!!", 0), 0)


def _member(entry: Entry, inode: int) -> Iterator[bytes]:
    name = entry.path.encode() + b"\0"
    fields = (
        inode, entry.mode, 0, 0, 2 if stat.S_ISDIR(entry.mode) else 1, entry.mtime,
        len(entry.data), 0, 0, 0, 0, len(name), 0,
    )  # fmt: skip
    head = b"070701" + b"".join(b"%08X" % value for value in fields) + name
    yield head + _padding(len(head))
    yield entry.data + _padding(len(entry.data))


def _padding(size: int) -> bytes:
    return b"\0" * (-size % 4)
