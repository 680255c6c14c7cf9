"""A virtual machine with RDMA devices: a stock Debian kernel with soft-RoCE, emulated by QEMU.

In: this machine's packages and a kernel from apt. Out: a ``Guest`` whose shell runs commands. Start
with ``boot.py``; ``kernel`` fetches the kernel, ``image`` and ``cpio`` pack the root file system,
``monitor`` questions a guest that hangs, ``attach`` puts the guest in the place of a host of a
namespace fabric. ``init`` and ``network`` run inside the guest.
"""

from testbed.rdma_vm.boot import Guest, GuestHangError
from testbed.rdma_vm.image import missing
from testbed.rdma_vm.kernel import GuestError

__all__ = ["Guest", "GuestError", "GuestHangError", "missing"]
