"""Outcomes of earlier runs in the user's cache, so that ``--explain`` does not judge again.

An outcome is found by the contents of all files that were given, the options, and the code that
judges: whatever differs, the run is repeated. The newest few are kept, readable by their owner
only. Standard input is never looked up, because it can be read once only.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

import localizer
import schemas
import skeletonhunter
import streams
from skeletonhunter.diagnosis.outcome import Outcome
from skeletonhunter.errors import BadInput

#: Outcomes that are kept [count].
MOST: Final = 32
_decoder: Final = msgspec.json.Decoder(Outcome)


def cache_folder() -> Path:
    """Where outcomes are kept: XDG_CACHE_HOME, else ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "skeletonhunter" / "diagnose"


def key(files: Iterable[str], documents: Iterable[Path | None], options: object) -> str | None:
    """The key of a run's outcome; None where it cannot be found again. Raises BadInput.

    files      of records
    documents  topology, heartbeats, placement, maintenance, in this order
    options    all else that the outcome depends on; its repr is taken
    """
    digest = hashlib.sha256(repr(options).encode())
    for package in (localizer, schemas, streams, skeletonhunter):
        folder = Path(next(iter(package.__path__)))
        for source in sorted(folder.rglob("*.py")):
            digest.update(source.read_bytes())
    for name in files:
        if name == "-":
            return None
        _add(digest, Path(name))
    for document in documents:
        if document is None:
            digest.update(b"no document")
        else:
            _add(digest, document)
    return digest.hexdigest()


def load(key: str, folder: Path) -> Outcome | None:
    """The outcome of that key; None where there is none that can be read."""
    try:
        return _decoder.decode((folder / f"{key}.json").read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None


def save(key: str, outcome: Outcome, folder: Path) -> None:
    """Keep an outcome, and the newest others; what cannot be written is judged again later."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = folder / f"{key}.{os.getpid()}.new"
        new.touch(mode=0o600)
        new.write_bytes(msgspec.json.encode(outcome))
        new.replace(folder / f"{key}.json")
        by_age = sorted(folder.glob("*.json"), key=lambda each: -each.stat().st_mtime)
        for old in by_age[MOST:]:
            old.unlink(missing_ok=True)


def _add(digest: hashlib._Hash, path: Path) -> None:
    if not path.is_file():  # a pipe is read once; a missing file is complained of where it is read
        digest.update(os.urandom(16))
        return
    try:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    except OSError as why:
        raise BadInput(f"{path}: {why.strerror or why}; give a readable file") from why
