"""The RDMA guest without an emulator: archives, kernels in a cache, and a machine that hangs."""

from __future__ import annotations

import ast
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from testbed.rdma_vm import boot, clock, cpio, image, kernel
from testbed.rdma_vm.boot import Guest, GuestHangError, Nic
from testbed.rdma_vm.kernel import GuestError

# --- the root file system ------------------------------------------------------------------------


def unpacked(raw: bytes) -> dict[str, tuple[int, int, bytes]]:
    """Path -> (mode, mtime, data), read as the kernel's documentation says: a head of fourteen
    fields, the name, the data, each padded to four bytes."""
    found, at = {}, 0
    while True:
        assert raw[at : at + 6] == b"070701"
        fields = [int(raw[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        name = raw[at + 110 : at + 110 + fields[11] - 1].decode()
        begin = -(-(at + 110 + fields[11]) // 4) * 4
        if name == "TRAILER!!!":
            return found
        assert name not in found, f"{name} twice"
        found[name] = (fields[1], fields[5], raw[begin : begin + fields[6]])
        at = -(-(begin + fields[6]) // 4) * 4


def test_an_archive_holds_files_links_and_directories_with_their_modes_and_times() -> None:
    entries = [
        cpio.symlink("bin", "usr/bin"),
        cpio.file("usr/bin/tool", b"#!x", executable=True, mtime=1_700_000_000),
        cpio.file("etc/note", b"", mtime=5),
        cpio.directory("tmp"),
    ]
    found = unpacked(b"".join(cpio.pack(entries)))
    assert found["bin"] == (stat.S_IFLNK | 0o777, 0, b"usr/bin")
    assert found["usr/bin/tool"] == (stat.S_IFREG | 0o755, 1_700_000_000, b"#!x")
    assert found["etc/note"] == (stat.S_IFREG | 0o644, 5, b"")
    assert found["tmp"][0] == stat.S_IFDIR | 0o755


def test_directories_come_before_what_is_in_them_and_nothing_comes_twice() -> None:
    entries = [cpio.file("a/b/c", b"1"), cpio.file("a/b/d", b"2"), cpio.file("a/b/c", b"3")]
    found = unpacked(b"".join(cpio.pack(entries)))
    assert list(found) == ["a", "a/b", "a/b/c", "a/b/d"]
    assert found["a/b/c"][2] == b"1", "the first counts"


def test_what_runs_in_the_guest_imports_nothing_of_ours_that_is_not_packed() -> None:
    root = Path(__file__).parents[3]
    packed = {
        ".".join(source.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for source in image.own_sources()
    }
    for source in image.own_sources():
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                if node.module.partition(".")[0] in ("probers", "schemas"):
                    assert node.module in packed, f"{source.name} imports {node.module}"
                    modules = {name for name in names if (root / name.replace(".", "/")).exists()
                               or (root / f"{name.replace('.', '/')}.py").exists()}  # fmt: skip
                    assert modules <= packed, f"{source.name} imports {modules - packed}"


def test_missing_tools_are_named_with_their_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(image.shutil, "which", lambda tool, path: None)
    lacks = image.missing(pyverbs=tmp_path / "pyverbs")
    assert "qemu-system-x86_64 (apt install qemu-system-x86)" in lacks
    assert f"{tmp_path / 'pyverbs'} (apt install python3-pyverbs)" in lacks
    with (tmp_path / "x").open("wb") as out, pytest.raises(GuestError, match="apt install kmod"):
        image.build(kernel.Kernel(tmp_path / "vmlinuz", []), out)


# --- the kernel ----------------------------------------------------------------------------------


def test_the_module_list_names_what_two_rdma_devices_and_two_nics_need() -> None:
    wanted = kernel.wanted_modules(kernel.MODULES.read_text())
    assert {"rdma_rxe", "veth", "virtio_net"} <= set(wanted)
    assert not any("#" in name or " " in name for name in wanted)


def test_the_package_behind_the_metapackage_is_found() -> None:
    said = "linux-image-amd64\n  Depends: linux-image-6.1.0-56-amd64\n"
    assert kernel.package_name(said) == "linux-image-6.1.0-56-amd64"
    assert kernel.package_name("linux-image-amd64\n") is None


def unknown_to_apt(command: Sequence[str], cwd: Path | None = None) -> str:
    assert command[0] == "apt-cache", f"{command} needs a network"
    return "linux-image-amd64\n"


def test_apt_without_lists_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "run", unknown_to_apt)
    monkeypatch.setattr(kernel.shutil, "which", lambda tool: tool)
    with pytest.raises(GuestError, match="apt does not know linux-image-amd64; run apt-get update"):
        kernel.kernel(tmp_path)


def test_a_second_run_needs_neither_network_nor_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "linux-image-6.1.0-1-amd64_6.1.1_amd64.deb").touch()
    asked = []

    def dpkg(command: Sequence[str], cwd: Path | None = None) -> str:
        asked.append(command[0])
        if command[0] == "dpkg":
            boot_files = Path(command[3], "boot")
            boot_files.mkdir(parents=True)
            (boot_files / "vmlinuz-6.1.0-1-amd64").write_text("kernel")
        if command[0] == "modprobe":
            module = Path(command[2], "rdma_rxe.ko")
            module.write_text("module")
            return f"builtin x\ninsmod {module}\ninsmod {module}\n"
        return ""

    monkeypatch.setattr(kernel, "run", dpkg)
    first = kernel.kernel(tmp_path)
    assert asked == ["dpkg", "depmod", "modprobe"]
    assert first.image.read_text() == "kernel"
    assert [module.name for module in first.modules] == ["00-rdma_rxe.ko"]
    asked.clear()
    assert kernel.kernel(tmp_path) == first
    assert asked == []
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("tmp")]


def test_a_tool_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(GuestError, match=r"ls /nowhere: .*No such file"):
        kernel.run(["ls", "/nowhere"])
    with pytest.raises(GuestError, match="no-such-tool is not installed"):
        kernel.run(["no-such-tool"])


# --- the machine ---------------------------------------------------------------------------------

HANGS = "import time; print('some noise', flush=True); time.sleep(60)"
DIES = "print('panic: no init')"
WORKS = """\
import subprocess, sys
print("skh-ready 1.5", flush=True)
for line in sys.stdin:
    number, command = line.split(" ", 1)
    code = subprocess.run(command, shell=True).returncode
    print(f"skh-end {number} {code}", flush=True)
"""

Machine = Callable[..., Guest]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Guests whose emulator is a small script: each boot takes the next one."""
    monkeypatch.setattr(boot, "kernel", lambda cache: kernel.Kernel(Path("/vmlinuz"), []))

    def build(guest_kernel: kernel.Kernel, out: BinaryIO) -> None:
        out.write(b"the image")

    monkeypatch.setattr(boot, "build", build)
    started: list[subprocess.Popen[bytes]] = []

    def make(*scripts: str, patience_s: float = 10.0, **more: Any) -> Guest:
        waiting = list(scripts)

        def launch(argv: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
            assert "microvm" in argv
            process = subprocess.Popen([sys.executable, "-c", waiting.pop(0), *argv], **popen)
            started.append(process)
            return process

        return Guest(launch=launch, patience_s=patience_s, **more)

    yield make
    assert all(process.returncode is not None for process in started), "somebody still runs"


def test_a_command_gives_its_lines_and_its_exit_code(machine: Machine) -> None:
    with machine(WORKS) as guest:
        assert guest.run("echo one; echo two; exit 3") == (["one", "two"], 3)
        assert guest.run("true") == ([], 0)
        assert guest.failed_boots == 0


def test_a_boot_that_hangs_or_dies_is_tried_once_more(machine: Machine) -> None:
    for bad in (HANGS, DIES):
        with machine(bad, WORKS, patience_s=3.0) as guest:
            assert guest.failed_boots == 1
            assert guest.run("echo alive").lines == ["alive"]


def test_a_guest_that_never_comes_up_is_an_error_with_its_last_words(machine: Machine) -> None:
    begin = time.monotonic()
    with (
        pytest.raises(GuestError, match=r"the boot: no end after 1 s; .* some noise"),
        machine(HANGS, HANGS, patience_s=1.0),
    ):
        pass
    assert time.monotonic() - begin < 30


def test_a_command_that_takes_too_long_is_an_error_that_names_it(machine: Machine) -> None:
    with (
        machine(WORKS) as guest,
        pytest.raises(GuestError, match=r"sleep 50: no end after 0\.2 s"),
    ):
        guest.run("exec sleep 50", within_s=0.2)


ANSWERS_ITS_MONITOR = """\
import json, socket, sys
at = next(word for word in sys.argv if word.startswith("socket,id=monitor,fd="))
monitor = socket.socket(fileno=int(at.rpartition("=")[2])).makefile("rw")
print("skh-ready 1.5", flush=True)
print(json.dumps({"QMP": {}}), file=monitor, flush=True)
for line in monitor:
    asked = json.loads(line)
    print(json.dumps({"event": "something"}), file=monitor)
    text = "CPU#0\\nRIP=00c0ffee RFL=0 HLT=1\\n\\nCPU#1\\nRIP=0000beef RFL=0 HLT=0\\n"
    print(json.dumps({"return": text if "-monitor-" in line else {}}), file=monitor, flush=True)
    if asked["execute"] == "chardev-send-break":
        print("key", sys.stdin.read(1), flush=True)
"""


def test_a_guest_that_hangs_is_asked_what_it_does(machine: Machine) -> None:
    with machine(ANSWERS_ITS_MONITOR) as guest, pytest.raises(GuestHangError) as caught:
        guest.run("", within_s=0.2)
    notes = caught.value.__notes__
    assert notes[:2] == ["processor 0 waits at 00c0ffee", "processor 1 runs at 0000beef"]
    assert len([line for line in notes[2:] if line.startswith("key ")]) == 3


def test_a_driver_that_was_not_loaded_is_an_error(machine: Machine) -> None:
    bad = "print('skh-warning /modules/06-rdma_rxe.ko was not loaded')\n" + WORKS
    with (
        pytest.raises(GuestError, match=r"06-rdma_rxe.ko was not loaded; is modules.txt right"),
        machine(bad, bad),
    ):
        pass


def test_a_command_in_a_guest_that_has_ended_is_an_error(machine: Machine) -> None:
    with machine("print('skh-ready 1')") as guest, pytest.raises(GuestError, match="the guest "):
        guest.run("true")
    with pytest.raises(GuestError, match="in a guest that runs"):
        guest.run("true")


def test_nics_are_cabled_to_their_taps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def launch(argv: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        seen.extend(argv)
        return subprocess.Popen([sys.executable, "-c", WORKS], **popen)

    monkeypatch.setattr(boot, "kernel", lambda cache: kernel.Kernel(Path("/vmlinuz"), []))
    monkeypatch.setattr(boot, "build", lambda guest_kernel, out: None)
    with Guest([Nic("g0", "02:00:00:00:00:01")], launch=launch):
        pass
    assert "tap,id=net0,ifname=g0,script=no,downscript=no" in seen
    assert "virtio-net-device,netdev=net0,mac=02:00:00:00:00:01" in seen


# --- clocks and ports ----------------------------------------------------------------------------


def test_the_counters_rate_is_ticks_per_millisecond() -> None:
    assert clock.rate_khz((0, 1_000), (50_000_000, 130_001_000)) == 2_600_000


def test_this_machines_counter_has_a_steady_rate() -> None:
    first, second = clock.counter_khz(), clock.counter_khz()
    if first is None or second is None:
        pytest.skip("this machine forbids code of our own in memory")
    assert first == pytest.approx(second, rel=1e-3)
