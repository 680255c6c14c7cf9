"""testbed.scenarios."""
