"""testbed.netns.faults."""
