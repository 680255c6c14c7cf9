"""A process that needs more memory than its group has is ended by the kernel."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from testbed.services import memory_limit
from testbed.services.memory_limit import MemoryLimit

_GROWS = "import sys; sys.stdin.read(1); held = [bytes(20_000 + n) for n in range(1_000)]"


def test_a_process_of_the_group_is_ended_and_no_other() -> None:
    if why := memory_limit.missing():
        pytest.skip(why)
    inside, outside = (
        subprocess.Popen([sys.executable, "-c", _GROWS], stdin=subprocess.PIPE) for _ in range(2)
    )
    with MemoryLimit(f"skh-test-{os.getpid()}", 256) as limit:
        limit.add(inside.pid)
        for each in (inside, outside):
            each.communicate(b"x", timeout=300)
    assert (inside.returncode, outside.returncode) == (-9, 0)
