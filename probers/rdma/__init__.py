"""probers.rdma."""
