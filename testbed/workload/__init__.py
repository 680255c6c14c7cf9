"""testbed.workload."""
