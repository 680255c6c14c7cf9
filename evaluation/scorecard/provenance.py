"""Where figures come from: commit, code, machine, and the parameters that were in force."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import pkgutil
import subprocess
from pathlib import Path
from typing import Final

import localizer
from localizer.options import Options

_ROOT: Final = Path(localizer.__file__).parent.parent
#: What the figures depend on; drawing and wording are not among it.
_MEASURED: Final = (
    "schemas", "streams", "localizer", "testbed", "streams/replay.py",
    "evaluation/scorecard/trials/paths.py", "evaluation/scorecard/trials/pipeline.py",
)  # fmt: skip


def sources() -> str:
    """Digest of the code and the data that figures depend on."""
    digest = hashlib.sha256()
    for name in _MEASURED:
        top = _ROOT / name
        files = [top] if top.is_file() else sorted(top.rglob("*"))
        for file in files:
            if file.suffix in (".py", ".toml"):
                digest.update(str(file.relative_to(_ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str:
    """Short hash, + when the tree has changes; "unknown" outside a git checkout."""
    head = _git("rev-parse", "--short=12", "HEAD")
    if not head:
        return "unknown"
    return head + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")


def parameters() -> dict[str, dict[str, str]]:
    """Constants of every module of the localizer, and its options: all that could be tuned."""
    options = {field.name: repr(field.default) for field in dataclasses.fields(Options)}
    out = {"localizer.state.Options": options}
    for found in pkgutil.walk_packages(localizer.__path__, "localizer."):
        module = importlib.import_module(found.name)
        own = {
            name: repr(value)
            for name, value in vars(module).items()
            if name.isupper() and _is_figure(value) and _is_set_in(module.__file__, name)
        }
        if own:
            out[found.name] = own
    return out


def _is_figure(value: object) -> bool:
    """A number, or numbers: names and tables are not tuned."""
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_figure, value))
    return isinstance(value, int | float)


def _is_set_in(path: str | None, name: str) -> bool:
    """Not imported from elsewhere."""
    lines = Path(path).read_text().splitlines() if path else []
    return any(line.startswith((f"{name} =", f"{name}:")) for line in lines)


def _git(*arguments: str) -> str:
    try:
        said = subprocess.run(  # noqa: S603 — fixed arguments
            ["git", "-C", str(_ROOT), *arguments],  # noqa: S607 — whichever git is on the path
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
