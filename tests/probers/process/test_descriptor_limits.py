"""File descriptors are divided so that no part of the agent uses up another part's share."""

from __future__ import annotations

import subprocess
import sys

import pytest

from probers.net.socket_pool import MAX_SOCKETS
from probers.process.descriptor_limits import RESERVE, shares


@pytest.mark.parametrize("limit", [256, 1024, 4096, 20_000, 2**31])
def test_the_shares_of_the_descriptors_fit_into_the_limit(limit: int) -> None:
    share = shares(limit)
    assert share.sockets + share.connections + RESERVE <= limit
    assert 1 <= share.sockets <= MAX_SOCKETS
    assert 1 <= share.connections <= 512
    if limit >= 20_000:
        assert share == (MAX_SOCKETS, 512)


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 900))\n"
        "from probers.process.descriptor_limits import raise_file_limit\n"
        "print(raise_file_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["900"] * 3
