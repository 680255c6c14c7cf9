"""The guest's kernel: Debian's package from apt, unpacked once into a cache.

The *cloud* flavour lacks soft-RoCE, so it is the plain one. A package in the cache is not fetched
again: a second run needs no network. Remove the cache to get a newer kernel.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

_PACKAGE: Final = "linux-image-amd64"
MODULES: Final = Path(__file__).with_name("modules.txt")


class GuestError(RuntimeError):
    """The guest could not be built, started or used; one line: what, where, what to do."""


class Kernel(NamedTuple):
    """A kernel and the modules to load, in order."""

    image: Path
    modules: list[Path]


def default_cache() -> Path:
    """Directory of the package and of the unpacked kernel."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / (
        "skeletonhunter/guest"
    )


def kernel(cache: Path | None = None) -> Kernel:
    """The kernel, fetched and unpacked if it is not there yet; raises GuestError."""
    cache = cache or default_cache()
    cache.mkdir(parents=True, exist_ok=True)
    package = _package(cache)
    wanted = wanted_modules(MODULES.read_text())
    digest = hashlib.sha256(" ".join(wanted).encode()).hexdigest()[:12]
    target = cache / f"{package.stem}-{digest}"
    if not target.exists():
        _unpack(package, wanted, target)
    return Kernel(target / "vmlinuz", sorted(target.glob("*.ko")))


def wanted_modules(text: str) -> list[str]:
    """Names in the module list, one per line; ``#`` starts a comment."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def package_name(depends: str) -> str | None:
    """The package behind the metapackage, from ``apt-cache depends``; None when it is unknown."""
    found = re.search(r"Depends: (linux-image-\d[\w.+-]*)", depends)
    return found[1] if found else None


def _package(cache: Path) -> Path:
    if kept := sorted(cache.glob("linux-image-*.deb")):
        return kept[-1]
    if shutil.which("apt-get") is None:
        raise GuestError("the guest's kernel comes by apt, and this machine has no apt-get")
    name = package_name(run(["apt-cache", "depends", _PACKAGE]))
    if name is None:
        raise GuestError(f"apt does not know {_PACKAGE}; run apt-get update")
    with tempfile.TemporaryDirectory(dir=cache) as fresh:
        run(["apt-get", "download", "-qq", name], cwd=Path(fresh))
        (fetched,) = Path(fresh).glob("*.deb")
        return fetched.rename(cache / fetched.name)


def _unpack(package: Path, wanted: Sequence[str], target: Path) -> None:
    """Keep the image and the wanted modules with all that they need, numbered in loading order."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        root, chosen = Path(scratch, "root"), Path(scratch, "chosen")
        run(["dpkg", "-x", str(package), str(root)])
        chosen.mkdir()
        (image,) = root.glob("boot/vmlinuz-*")
        version = image.name.removeprefix("vmlinuz-")
        image.rename(chosen / "vmlinuz")
        run(["depmod", "-b", str(root), version])
        show = ["modprobe", "-d", str(root), "-S", version, "--show-depends", "-a", *wanted]
        lines = dict.fromkeys(run(show).splitlines())  # in order, each once
        for number, line in enumerate(line for line in lines if line.startswith("insmod ")):
            module = Path(line.split()[1])
            shutil.copy(module, chosen / f"{number:02}-{module.name}")
        try:
            chosen.rename(target)
        except OSError:  # another run was quicker
            if not target.exists():
                raise


def run(command: Sequence[str], cwd: Path | None = None) -> str:
    """Run a tool; returns what it printed, raises GuestError with its own first complaint."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603  # fixed argument lists
    except FileNotFoundError as why:
        raise GuestError(f"{command[0]} is not installed") from why
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise GuestError(f"{' '.join(command[:4])}: {lines[0] if lines else done.returncode}")
    return done.stdout
