"""testbed.faults."""
