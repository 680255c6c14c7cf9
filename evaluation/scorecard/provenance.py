"""Where figures come from: commit, code, machine, and the parameters that were in force."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Final

import localizer
from schemas.parameters.parameter import rows
from streams.parameters import groups

_ROOT: Final = Path(localizer.__file__).parent.parent
#: What the figures depend on; drawing and wording are not among it.
_MEASURED: Final = (
    "schemas", "streams", "localizer", "testbed", "streams/replay.py",
    *(f"evaluation/scorecard/trials/{name}.py"
      for name in ("curve", "healthy", "healthy_panes", "paths", "pipeline", "pooled_panes")),
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
    """Every parameter in force, as ``skeletonhunter params`` lists them: name -> value, unit,
    source."""
    return {
        row.name: {"value": repr(row.value), "unit": row.unit, "source": row.source}
        for row in rows(groups())
    }


def _git(*arguments: str) -> str:
    try:
        said = subprocess.run(  # noqa: S603 — fixed arguments
            ["git", "-C", str(_ROOT), *arguments],  # noqa: S607 — whichever git is on the path
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
