"""The former name of ``probers.rdma.ping``; still works as ``python -m probers.rdma_ping``."""

import sys

from probers.rdma.ping import main

if __name__ == "__main__":
    print("probers.rdma_ping is deprecated: use python -m probers.rdma.ping", file=sys.stderr)
    raise SystemExit(main())
