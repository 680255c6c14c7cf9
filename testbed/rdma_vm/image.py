"""The guest's root file system, packed from the packages of this machine. Needs no root.

Every file is looked up at each run, which takes about a second, so nothing can be out of date.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import py_compile
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from testbed.rdma_vm import cpio
from testbed.rdma_vm.kernel import GuestError, Kernel, run

_HERE: Final = Path(__file__).parent
_ROOT: Final = _HERE.parent.parent
#: Tools of the guest by package; /usr/sbin may not be in a user's search path.
_TOOLS: Final = {
    "busybox": "busybox-static",
    "ip": "iproute2",
    "rdma": "iproute2",
    "ibv_devices": "ibverbs-utils",
    "ibv_rc_pingpong": "ibverbs-utils",
}
#: Tools that only this machine needs.
_MAKERS: Final = {
    "qemu-system-x86_64": "qemu-system-x86",
    "modprobe": "kmod",
    "depmod": "kmod",
    "dpkg": "dpkg",
    "setpriv": "util-linux",
    "ldd": "libc-bin",
}
_SEARCH: Final = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin", "/sbin"])
_PYTHON: Final = Path("/usr/bin/python3")
_PYVERBS: Final = Path("/usr/lib/python3/dist-packages/pyverbs")
_DRIVER: Final = Path("/etc/libibverbs.d/rxe.driver")
#: Of Python's library: large, and nothing of it runs in the guest.
_LEFT_OUT: Final = {
    "test", "idlelib", "tkinter", "lib2to3", "ensurepip", "distutils", "pydoc_data", "unittest",
    "turtledemo", "sqlite3", "curses", "dbm", "venv", "xmlrpc", "wsgiref", "asyncio", "xml",
}  # fmt: skip
_SCRIPTS: Final = ("init", "network")
#: What the agent imports of other projects, beside Python's library.
_PACKAGES: Final = ("msgspec", "nanoarrow")


def missing(pyverbs: Path = _PYVERBS) -> list[str]:
    """The tools and files that this machine lacks for a guest; empty when it lacks none."""
    lacks = []
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        lacks.append("Linux on x86-64, because the guest runs this machine's own programs")
    for tool, package in (_TOOLS | _MAKERS).items():
        if _which(tool) is None:
            lacks.append(f"{tool} (apt install {package})")
    for path, package in (
        (_PYTHON, "python3"),
        (pyverbs, "python3-pyverbs"),
        (_DRIVER, "ibverbs-providers"),
    ):
        if not path.exists():
            lacks.append(f"{path} (apt install {package})")
    return lacks


def build(guest_kernel: Kernel, out: BinaryIO) -> None:
    """Write the root file system as a cpio archive; raises GuestError."""
    if lacks := missing():
        raise GuestError(f"an RDMA guest needs {', '.join(lacks)}")
    for piece in cpio.pack(_entries(guest_kernel)):
        out.write(piece)


def _entries(guest_kernel: Kernel) -> Iterator[cpio.Entry]:
    for top in ("bin", "sbin", "lib", "lib64"):
        if (link := Path("/", top)).is_symlink():
            yield cpio.symlink(top, str(link.readlink()))
    for name in ("proc", "sys", "dev", "tmp", "run", "root"):
        yield cpio.directory(name)
    for name in _SCRIPTS:
        yield cpio.file(name, (_HERE / name).read_bytes(), executable=True)
    for module in guest_kernel.modules:
        yield cpio.file(f"modules/{module.name}", module.read_bytes())
    for source in own_sources():
        place = f"skh/{source.relative_to(_ROOT)}"
        yield _copy(source, place)
        if packages():  # this Python's code is the guest's; emulated, compiling takes 10 s
            yield _compiled(source, Path(place))
    for folder in packages():
        for source in _tree(folder):
            yield _copy(source, f"skh/{source.relative_to(folder.parent)}")
    yield from _system()


def own_sources() -> list[Path]:
    """The files of the agent, and those of schemas, of which it imports some."""
    return sorted([*(_ROOT / "probers").rglob("*.py"), *(_ROOT / "schemas").rglob("*.py")])


def packages() -> list[Path]:
    """Folders of the packages that the agent imports; none where this Python is another release
    than the guest's, for which their compiled parts would not fit."""
    if f"python{sys.version_info.major}.{sys.version_info.minor}" != _PYTHON.resolve().name:
        return []
    found = [importlib.util.find_spec(name) for name in _PACKAGES]
    return [Path(each.origin).parent for each in found if each is not None and each.origin]


def _system() -> Iterator[cpio.Entry]:
    """Tools, Python with pyverbs, soft-RoCE's provider, and the libraries that all these load."""
    tools = [Path(found) for tool in _TOOLS if (found := _which(tool))]
    python = _PYTHON.resolve()
    library = Path("/usr/lib", python.name)
    providers = [*Path("/usr/lib").glob("*-linux-gnu/libibverbs/librxe-*.so")]
    trees = [*_tree(library), *_tree(_PYVERBS)]
    yield cpio.symlink("usr/bin/python3", python.name)
    binaries = [*tools, python, *providers, *(path for path in trees if path.suffix == ".so")]
    static = [path for path in tools if path.name == "busybox"]
    of_packages = [path for folder in packages() for path in folder.rglob("*.so")]
    libraries = _libraries(path for path in [*binaries, *of_packages] if path not in static)
    for path in [*binaries, *trees, _DRIVER, *libraries]:
        yield _copy(path)


def _tree(top: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(top):
        folders[:] = sorted(
            name for name in folders if name not in _LEFT_OUT and not name.startswith("config-")
        )
        yield from (
            Path(where, name) for name in sorted(names) if not name.endswith((".opt-1.pyc", ".a"))
        )


def _libraries(binaries: Iterable[Path]) -> Iterator[Path]:
    """All libraries of these binaries, and the loader."""
    listed = run(["ldd", *map(str, binaries)])
    if lost := re.search(r"\S+ => not found", listed):
        raise GuestError(f"{lost[0]}; apt install --fix-broken")
    yield from sorted({Path(found) for found in re.findall(r"(/\S+) \(0x", listed)})
    # Python loads it by name when a thread ends.
    yield from Path("/usr/lib").glob("*-linux-gnu/libgcc_s.so.1")


def _compiled(source: Path, place: Path) -> cpio.Entry:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "pyc")
        timestamp = py_compile.PycInvalidationMode.TIMESTAMP
        py_compile.compile(str(source), str(made), f"/{place}", True, invalidation_mode=timestamp)
        name = importlib.util.cache_from_source(place.name)
        return cpio.file(str(place.parent / name), made.read_bytes())


def _copy(source: Path, path: str | None = None) -> cpio.Entry:
    """The entry of a file, under its real name where a directory above it is a link."""
    place = path or str(source.parent.resolve() / source.name).removeprefix("/")
    status = source.stat()
    return cpio.file(
        place, source.read_bytes(), executable=bool(status.st_mode & 0o111),
        mtime=int(status.st_mtime),
    )  # fmt: skip


def _which(tool: str) -> str | None:
    return shutil.which(tool, path=_SEARCH)
