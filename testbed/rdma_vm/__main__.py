"""``python -m testbed.rdma_vm``: fetch the kernel into the cache, for offline use."""

from __future__ import annotations

import sys

from testbed.rdma_vm.kernel import GuestError, kernel


def main() -> int:
    """Returns the exit code: 3 when the kernel cannot be had."""
    try:
        print(f"the guest's kernel: {kernel().image}")
    except GuestError as why:
        print(f"no RDMA guest: {why}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
