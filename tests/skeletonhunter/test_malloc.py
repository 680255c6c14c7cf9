"""Threads share one heap; what malloc has given out is told from the free room that it keeps."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest
from builders.command_line import Command

from schemas.metrics.process import PROCESS_MALLOC
from skeletonhunter import malloc

MB = 10**6
#: Four threads allocate at the same time; prints how many heaps there are then.
FOUR_THREADS = """
import ctypes, sys, threading
from skeletonhunter import malloc
shared = malloc.share_heap() if sys.argv[1] == "share" else None
here = threading.Barrier(5)
def allocate():
    block = bytearray(5000)
    here.wait()
    here.wait()
for _ in range(4):
    threading.Thread(target=allocate).start()
here.wait()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
out = libc.fdopen(1, b"w")
libc.malloc_info(0, ctypes.c_void_p(out))
libc.fflush(ctypes.c_void_p(out))
here.wait()
print(shared, file=sys.stderr)
"""

#: By the C library and not by ``heap()``, which these tests are about.
pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc says it")


def heap() -> malloc.Heap:
    found = malloc.heap()
    assert found is not None
    return found


def test_a_large_block_is_given_out_until_it_is_freed() -> None:
    before = heap()
    block = bytearray(100 * MB)
    assert heap().used - before.used > 90 * MB
    del block
    assert heap().used - before.used < 10 * MB


def test_freed_blocks_between_others_are_free_room() -> None:
    blocks = [bytearray(10_000) for _ in range(5_000)]
    before = heap()
    del blocks[::2]  # those that stay keep their neighbours' room from the kernel
    after = heap()
    assert after.free - before.free > 20 * MB
    assert before.used - after.used > 20 * MB


def heaps(argument: str, **environment: str) -> tuple[int, str]:
    """How many heaps a process with five threads has, and what ``share_heap`` returned."""
    inherited = {
        name: value for name, value in os.environ.items()
        if name not in ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", FOUR_THREADS, argument],
        env={**inherited, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.count("<heap nr="), done.stderr.strip()


def test_threads_share_one_heap() -> None:
    assert heaps("share") == (1, "True")
    alone, _ = heaps("as it is")
    assert alone == 5


def test_an_operator_may_set_another_number_of_heaps() -> None:
    assert heaps("share", MALLOC_ARENA_MAX="3") == (3, "False")
    assert heaps("share", GLIBC_TUNABLES="glibc.malloc.arena_max=3") == (3, "False")
    assert heaps("share", GLIBC_TUNABLES="glibc.malloc.perturb=0") == (1, "True")


def test_both_are_metrics() -> None:
    found = {sample.labels: sample.value for sample in malloc.samples()}
    assert found.keys() == {("used",), ("free",)}
    assert {sample.metric for sample in malloc.samples()} == {PROCESS_MALLOC}
    assert found["used",] > MB


def test_a_stream_worker_shares_one_before_anything_else(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(malloc, "share_heap", lambda: asked.append(True))
    assert command("stream").code == 2, "there is no broker in the settings"
    assert asked == [True]
