"""Measures the images of the Dockerfile without an engine, in bytes of files, unpacked.

    python scripts/image_sizes.py FOLDER [--json]

FOLDER is empty or absent; it gets ``agent`` and ``server``, filled by scripts/image-root.sh, and
the Debian packages of the bases. The real bases are not downloaded. A base is taken as the packages
that it is known to hold, without manuals and translations, and for the server also the interpreter
that runs this program, without its tests, as python:slim has one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
_LEFT_OUT: Final = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")
_SLIM_LEFT_OUT: Final = frozenset({"test", "tests", "idlelib", "site-packages", "__pycache__"})


def main(arguments: list[str]) -> int:
    """Print a line for each image; the exit code."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    bases = tomllib.loads((ROOT / "scripts/image_bases.toml").read_text())
    sizes = {}
    for role, python in (("agent", 0), ("server", _interpreter())):
        root = folder / role
        environment = {
            **os.environ, "UV": str(Path(sys.executable).with_name("uv")), "PYTHON": sys.executable,
        }  # fmt: skip
        subprocess.run(  # noqa: S603 — our own
            [ROOT / "scripts/image-root.sh", role, root], check=True, env=environment
        )
        base = _unpacked(folder / f"{role}-base", bases[role].split()) + python
        sizes[role] = {"own": size(root), "base": base}
    if "--json" in arguments:
        print(json.dumps(sizes))
    else:
        for role, each in sizes.items():
            total = sum(each.values())
            print(f"{role:7} {total / 1e6:6.1f} MB: {each['own'] / 1e6:.1f} MB of ours and of "
                  f"libraries, base {each['base'] / 1e6:.1f} MB")  # fmt: skip
    return 0


def size(folder: Path) -> int:
    """Bytes of the files below, links not followed."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def _interpreter() -> int:
    """Bytes of this interpreter and its library, as python:slim leaves it."""
    prefix = Path(sys.base_prefix)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    files = [*(prefix / "lib" / version).rglob("*"), *(prefix / "lib").glob("libpython*.so*")]
    files += [(prefix / "bin" / version).resolve()]
    return sum(
        path.lstat().st_size
        for path in files
        if not path.is_dir()
        and path.suffix != ".a"
        and not _SLIM_LEFT_OUT.intersection(path.relative_to(prefix).parts)
    )


def _unpacked(folder: Path, packages: list[str]) -> int:
    """Bytes of the files of Debian packages; all of them can be downloaded, or this fails."""
    folder.mkdir(exist_ok=True)
    _run("apt-get", "download", "-qq", *sorted(set(packages)), place=folder)
    root = folder / "root"
    for package in folder.glob("*.deb"):
        _run("dpkg-deb", "-x", package, root)
    return size(root) - sum(size(root / each) for each in _LEFT_OUT)


def _run(*command: str | Path, place: Path | None = None) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd=place)  # noqa: S603 — our own


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
