"""A small machine with RDMA devices: a stock Debian kernel with soft-RoCE, emulated by QEMU.

``kernel`` takes the kernel's package from apt and keeps what is needed of it, ``cpio`` and
``image`` pack this machine's own tools and our probers into a root file system, ``boot`` starts it
and talks to its shell, ``attach`` gives it a host's place in a namespace fabric. ``init`` and
``network`` run inside.
"""

from testbed.rdma_vm.boot import Guest
from testbed.rdma_vm.image import missing
from testbed.rdma_vm.kernel import GuestError

__all__ = ["Guest", "GuestError", "missing"]
