"""testbed.topologies."""
