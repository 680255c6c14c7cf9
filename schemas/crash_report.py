"""Internal errors: the traceback goes to a file, one line to stderr."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Final

from schemas.printable import printable

#: Exit code of an internal error (EX_SOFTWARE of sysexits.h).
INTERNAL_ERROR: Final = 70
_MAX_CHARS: Final = 300  # of the error's own text on the line


def report(program: str, error: BaseException, write: Callable[[str], None] | None = None) -> int:
    """Write the traceback to a new file that only its owner can read, and its path to stderr.

    write  gets the line instead of stderr, without the name of the program
    Where no file can be written, the line on stderr has the source line of the error instead.
    Returns the exit code.
    """
    named = [type(error).__name__, *([str(error)] if str(error) else [])]
    what = printable(" ".join(": ".join(named).split()))[:_MAX_CHARS]
    line = f"internal error: {what}; {_save(error)}"
    if write is not None:
        write(line)
    else:
        print(f"{program}: {line}", file=sys.stderr, flush=True)
    return INTERNAL_ERROR


def _save(error: BaseException) -> str:
    try:
        handle, path = tempfile.mkstemp(prefix="skeletonhunter-", suffix=".traceback")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(traceback.format_exception(error))
    except OSError as why:
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
        return f"raised at {where}; its traceback cannot be written: {why.strerror}"
    return f"please report it with {path}"
