"""testbed.simulator."""
