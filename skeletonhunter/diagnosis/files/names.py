"""Names and globs -> files."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path

from skeletonhunter.errors import BadInput


def expanded(names: Iterable[str]) -> list[str]:
    """The files that names stand for, those of a glob by name; raises BadInput.

    names  files, ``-`` for stdin, or globs (``*``, ``?``, ``[...]``, ``**`` for any folders) that
           the shell has left alone; a file whose own name looks like a glob is that file
    """
    found: list[str] = []
    for name in names:
        if name == "-" or not glob.has_magic(name) or Path(name).exists():
            found.append(name)
            continue
        matching = sorted(each for each in glob.iglob(name, recursive=True) if Path(each).is_file())
        if not matching:
            raise BadInput(f"{name}: no file matches")
        found += matching
    return found
